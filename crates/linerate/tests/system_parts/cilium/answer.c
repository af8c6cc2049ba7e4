/* A server in a pod, and a client in it, in a program without libraries: `answer serve PORT` answers each request with
 * the node, of the variable NODE, and the address that the request came from; `answer ask ADDRESS PORT` prints what such
 * a server answers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void limit(int connection) {
    struct timeval time = {.tv_sec = 2};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

static void answer(int connection, struct sockaddr_in peer) {
    char request[4096], reply[256];
    const char *node = getenv("NODE");
    limit(connection);
    if (read(connection, request, sizeof request) <= 0) {
        _exit(1);
    }
    int length = snprintf(reply, sizeof reply, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n%s %s\n",
                          node ? node : "-", inet_ntoa(peer.sin_addr));
    _exit(write(connection, reply, length) != length);
}

static int serve(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
        perror("answer");
        return 1;
    }
    /* Whoever has ended is not waited for. */
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        int connection = accept(listener, (struct sockaddr *)&peer, &size);
        if (connection >= 0 && fork() == 0) {
            answer(connection, peer);
        }
        close(connection);
    }
}

static int ask(const char *to, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(to)};
    const char request[] = "GET / HTTP/1.0\r\n\r\n";
    char reply[4096];
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    limit(connection);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) ||
        write(connection, request, sizeof request - 1) < 0) {
        perror("answer");
        return 1;
    }
    ssize_t length = read(connection, reply, sizeof reply - 1);
    reply[length > 0 ? length : 0] = 0;
    const char *body = strstr(reply, "\r\n\r\n");
    printf("%s", body ? body + 4 : "");
    return body ? 0 : 1;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "serve") == 0) {
        return serve(atoi(words[2]));
    }
    return count == 4 && strcmp(words[1], "ask") == 0 ? ask(words[2], atoi(words[3])) : 2;
}
