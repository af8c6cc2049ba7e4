"""Runs a program under a seccomp profile as OCI writes them, by libseccomp as runtimes do: PROFILE PROGRAM ARGUMENT…"""

import ctypes
import json
import os
import sys

ACTIONS = {"SCMP_ACT_ALLOW": 0x7FFF0000, "SCMP_ACT_ERRNO": 0x00050000}
COMPARISONS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}


class Argument(ctypes.Structure):
    """`struct scmp_arg_cmp` of seccomp.h."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def action(name, errno):
    """With the number of the error that a refused call gives."""
    return ACTIONS[name] | (errno if name == "SCMP_ACT_ERRNO" else 0)


def load(profile):
    """From here on, this thread may do what the profile says."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(action(profile["defaultAction"], profile["defaultErrnoRet"])))
    for rule in profile["syscalls"]:
        wants = [
            Argument(one["index"], COMPARISONS[one["op"]], one["value"], one.get("valueTwo", 0))
            for one in rule.get("args", [])
        ]
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number < 0:
                continue  # This architecture has no such call.
            made = action(rule["action"], rule.get("errnoRet", 1))
            failed = library.seccomp_rule_add_array(
                context, ctypes.c_uint32(made), number, len(wants), (Argument * len(wants))(*wants)
            )
            if failed:
                raise OSError(-failed, f"{name}: {os.strerror(-failed)}")
    failed = library.seccomp_load(context)
    if failed:
        raise OSError(-failed, os.strerror(-failed))


with open(sys.argv[1], encoding="utf-8") as file:
    read = json.load(file)
load(read)
os.execv(sys.argv[2], sys.argv[2:])
