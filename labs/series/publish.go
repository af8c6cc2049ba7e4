package main

import (
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Places that publish reads from and writes to.
type places struct{ from, to, scenes, servers, linerate string }

// Publish packs every recording of a folder, and tells of the machine and of what was recorded.
func publish(p places) error {
	found, err := filepath.Glob(filepath.Join(p.from, "*.bins.csv"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no recording in %q: record one with stage", p.from)
	}
	if _, err := os.Stat(filepath.Join(p.to, "machine.json")); err == nil {
		return fmt.Errorf("series are published in %q already: name another folder by -to", p.to)
	}
	if err := os.MkdirAll(p.to, 0o755); err != nil {
		return err
	}
	var recordings []recording
	for _, path := range found {
		scene := strings.TrimSuffix(filepath.Base(path), ".bins.csv")
		one, err := readRecording(p, scene)
		if err != nil {
			return fmt.Errorf("cannot publish the scene %q: %w", scene, err)
		}
		recordings = append(recordings, one)
		for _, kind := range []string{"bins", "seconds"} {
			name := scene + "." + kind + ".csv"
			if err := pack(filepath.Join(p.from, name), filepath.Join(p.to, name+".gz")); err != nil {
				return err
			}
		}
		if events, err := os.ReadFile(filepath.Join(p.from, scene+".events.csv")); err == nil {
			if err := os.WriteFile(filepath.Join(p.to, scene+".events.csv"), events, 0o644); err != nil {
				return err
			}
		}
	}
	machine, err := json.MarshalIndent(describe(p, recordings), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.to, "machine.json"), append(machine, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.to, "summary.md"), []byte(summary(recordings)), 0o644)
}

// Pack compresses a file. The same rows give the same bytes: no name and no time are in them.
func pack(from, to string) error {
	rows, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer file.Close()
	packer, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := packer.Write(rows); err != nil {
		return err
	}
	if err := packer.Close(); err != nil {
		return err
	}
	return file.Close()
}

// Machine is what was recorded, where, and by which command.
type machine struct {
	Commands map[string]string `json:"commands"`
	Started  map[string]string `json:"started"`
	Machine  map[string]any    `json:"machine"`
	Versions map[string]string `json:"versions"`
}

func describe(p places, recordings []recording) machine {
	m := machine{
		Commands: map[string]string{}, Started: map[string]string{},
		Machine: map[string]any{
			"cpus": runtime.NumCPU(), "cpu_model": after("/proc/cpuinfo", "model name"),
			"memory": after("/proc/meminfo", "MemTotal"), "uname": output("uname", "-srm"),
		},
		Versions: map[string]string{
			"recorder": runtime.Version(), "linerate": output(p.linerate, "--version"),
			"commit": output("git", "describe", "--always", "--dirty"),
		},
	}
	if info, err := buildinfo.ReadFile(filepath.Join(p.servers, "minio")); err == nil {
		m.Versions["minio"] = info.Main.Version
	}
	under := func(path string) string { return filepath.Join(p.servers, "ceph", path) }
	libraries := []string{"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/ceph"}
	for at := range libraries {
		libraries[at] = under(libraries[at])
	}
	m.Versions["ceph"] = output("env", "LD_LIBRARY_PATH="+strings.Join(libraries, ":"), under("usr/bin/ceph-osd"),
		"--version")
	for _, one := range recordings {
		m.Commands[one.scene] = one.command
		m.Started[one.scene] = one.started.UTC().Format(time.RFC3339)
	}
	return m
}

// After is what a line of a file says of its name.
func after(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if before, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(before) == name {
			return strings.TrimSpace(value)
		}
	}
	return "not told"
}

// Output is what a program says; what cannot be asked is not told, and not the end of the recordings.
func output(program string, args ...string) string {
	said, err := exec.Command(program, args...).Output()
	if err != nil {
		return "not told"
	}
	return strings.TrimSpace(string(said))
}
