"""forward.py LISTEN_NETNS ADDRESS CONNECT_NETNS ADDRESS PORT: forwards a port of one network namespace to another, as
kubectl port-forward does. Prints the port that it listens on. Needs root."""
import socket
import sys
import threading

from netns import enter, family


def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s, how in ((b, socket.SHUT_WR), (a, socket.SHUT_RD)):
        try:
            s.shutdown(how)
        except OSError:
            pass


def main():
    listen_ns, listen_at, connect_ns, connect_to, port = sys.argv[1:]
    enter(listen_ns)
    listener = socket.socket(family(listen_at))
    listener.bind((listen_at, 0))
    listener.listen()
    enter(connect_ns)  # the listener stays where it was made
    print(listener.getsockname()[1], flush=True)
    while True:
        near, _ = listener.accept()
        far = socket.socket(family(connect_to))
        try:
            far.connect((connect_to, int(port)))
        except OSError:
            near.close()
            continue
        for a, b in ((near, far), (far, near)):
            threading.Thread(target=copy, args=(a, b), daemon=True).start()


main()
