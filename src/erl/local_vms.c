#include <kprof/erl/local_vms.h>

#include <dirent.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/erl/this_host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_BYTES 16384
#define LOOKUP_NS     500000000u

/* The next argument; NULL: there is none that is complete. */
static const char *next(const char **s, size_t *left)
{
    const char *word = *s, *end = memchr(word, 0, *left);

    if (end == NULL)
        return NULL;
    *left -= (size_t)(end + 1 - word);
    *s = end + 1;
    return word;
}

static bool is_vm(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strncmp(slash != NULL ? slash + 1 : program, "beam", 4) == 0;
}

static bool take(const char *name, const char *host, uint16_t port, struct local_vm *out)
{
    char full[2 * NODE_NAME_BYTES];

    if (strchr(name, '@') == NULL && host == NULL)
        return false;
    if (strchr(name, '@') != NULL)
        host = NULL;
    int n = snprintf(full, sizeof full, "%s%s%s", name, host != NULL ? "@" : "",
                     host != NULL ? host : "");
    if (n < 0 || n >= (int)sizeof full || !node_name_parse(full, &out->name) || out->name.port != 0)
        return false;
    out->name.port = port;
    return true;
}

static void take_tls(const char *proto, const char *optfile, struct local_vm *out)
{
    size_t n = optfile != NULL && optfile[0] == '/' ? strlen(optfile) : 0;

    out->tls = proto != NULL && (strcmp(proto, "inet_tls") == 0 || strcmp(proto, "inet6_tls") == 0);
    if (n >= sizeof out->tls_optfile || !out->tls)
        n = 0;
    if (n > 0)
        memcpy(out->tls_optfile, optfile, n);
    out->tls_optfile[n] = 0;
}

bool local_vm_parse(const char *s, size_t n, const char *here, const char *long_here,
                    struct local_vm *out)
{
    const char *word = next(&s, &n), *name = NULL, *host = NULL;
    const char *proto = NULL, *optfile = NULL;
    uint16_t port = 0;

    if (word == NULL || !is_vm(word))
        return false;
    while ((word = next(&s, &n)) != NULL && strcmp(word, "-extra") != 0) {
        bool is_long = strcmp(word, "-name") == 0;

        if (is_long || strcmp(word, "-sname") == 0) {
            name = next(&s, &n);
            host = is_long ? long_here : here;
        } else if (strcmp(word, "-erl_epmd_port") == 0) {
            const char *value = next(&s, &n);
            if (value == NULL || !node_name_port(value, &port))
                port = 0;
        } else if (strcmp(word, "-proto_dist") == 0) {
            proto = next(&s, &n);
        } else if (strcmp(word, "-ssl_dist_optfile") == 0) {
            optfile = next(&s, &n);
        }
    }
    take_tls(proto, optfile, out);
    return name != NULL && take(name, host, port, out);
}

static size_t read_file(const char *path, char *out, size_t cap_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, cap_bytes) : 0;

    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* The processes of containers on this machine are visible, too. False: in another network
 * namespace; *known: in ours. */
static bool may_be_here(const char *pid, const char *ours, bool *known)
{
    char path[64], theirs[64];

    (void)snprintf(path, sizeof path, "/proc/%.20s/ns/net", pid);
    ssize_t n = readlink(path, theirs, sizeof theirs - 1);
    *known = n >= 0 && (size_t)n == strlen(ours) && memcmp(theirs, ours, (size_t)n) == 0;
    return *known || n < 0;
}

struct names { /* of this machine */
    char here[THIS_HOST_BYTES], full[THIS_HOST_BYTES];
    bool looked_up, has_full;
};

/* The full name may need a look-up, which is made only for a VM that needs it. */
static bool parse(const char *command, size_t n, struct names *us, struct local_vm *out)
{
    if (local_vm_parse(command, n, us->here, NULL, out))
        return true;
    if (!local_vm_parse(command, n, us->here, "full.name", out))
        return false;
    if (!us->looked_up)
        us->has_full = this_host_full(us->full, clock_mono_ns() + LOOKUP_NS);
    us->looked_up = true;
    return us->has_full && local_vm_parse(command, n, us->here, us->full, out);
}

void local_vms_find(struct local_vms *out)
{
    struct names us = {.looked_up = false};
    char ours[64] = "", path[64];
    char *command = malloc(COMMAND_BYTES);
    DIR *proc = opendir("/proc");
    const struct dirent *d;

    if (command == NULL)
        abort();
    out->n = 0;
    this_host_short(us.here);
    (void)!readlink("/proc/self/ns/net", ours, sizeof ours - 1);
    while (proc != NULL && out->n < LOCAL_VMS_MAX && (d = readdir(proc)) != NULL) {
        struct local_vm *vm = &out->at[out->n];
        if (strspn(d->d_name, "0123456789") != strlen(d->d_name))
            continue;
        (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", d->d_name);
        size_t n = read_file(path, command, COMMAND_BYTES);
        if (parse(command, n, &us, vm) && may_be_here(d->d_name, ours, &vm->same_network))
            out->n++;
    }
    if (proc != NULL)
        closedir(proc);
    explicit_bzero(command, COMMAND_BYTES);
    free(command);
}

/* What is left out stays so, whatever the next one says. */
static void leave_out_differences(struct local_vm *vm, const struct local_vm *other)
{
    if (strcmp(vm->name.full, other->name.full) != 0)
        vm->name.full[0] = 0;
    if (vm->name.port != other->name.port)
        vm->name.port = 0;
    if (vm->tls != other->tls || strcmp(vm->tls_optfile, other->tls_optfile) != 0) {
        vm->tls = false;
        vm->tls_optfile[0] = 0;
    }
}

bool local_vms_named(const struct local_vms *vms, const char *alive, struct local_vm *out)
{
    bool found = false;

    for (size_t i = 0; i < vms->n; i++) {
        const struct local_vm *vm = &vms->at[i];

        if (strcmp(vm->name.alive, alive) != 0 || (found && out->same_network && !vm->same_network))
            continue;
        if (found && out->same_network == vm->same_network)
            leave_out_differences(out, vm);
        else
            *out = *vm;
        found = true;
    }
    return found;
}
