#include <kprof/erl/node_name.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MORE    "."   /* in a host name */
#define ADDRESS_MORE ".:%" /* in a literal address; '%' is before the zone of a link-local one */

bool node_name_chars(const char *s, const char *more)
{
    if (*s == 0)
        return false;
    for (; *s != 0; s++) {
        bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                    (*s >= '0' && *s <= '9') || *s == '_' || *s == '-';

        if (!word && strchr(more, *s) == NULL)
            return false;
    }
    return true;
}

bool node_name_is_long(const char *host)
{
    return strpbrk(host, ".:") != NULL;
}

bool node_name_port(const char *text, uint16_t *port)
{
    size_t n = strspn(text, "0123456789");
    long v = n > 0 && n <= 5 && text[n] == 0 ? strtol(text, NULL, 10) : 0;

    *port = (uint16_t)v;
    return v >= 1 && v <= 65535;
}

/* The length of the host at the start of text, and where a port begins (NULL: there is none).
 * False: the brackets are wrong. */
static bool split(const char *text, const char **host, size_t *n, const char **port)
{
    const char *colon = strchr(text, ':'), *end;

    *host = text;
    *n = strlen(text);
    *port = NULL;
    if (*text == '[') {
        end = strchr(text, ']');
        if (end == NULL || (end[1] != 0 && end[1] != ':'))
            return false;
        *host = text + 1;
        *n = (size_t)(end - text - 1);
        *port = end[1] == ':' ? end + 2 : NULL;
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        *n = (size_t)(colon - text);
        *port = colon + 1;
    }
    return true;
}

/* Copies the host, if it is one; *port is 0 if text has none. */
static bool take_host(const char *text, char out[NODE_NAME_BYTES], uint16_t *port)
{
    const char *host, *digits;
    struct in6_addr literal;
    size_t n;

    *port = 0;
    if (!split(text, &host, &n, &digits) || n >= NODE_NAME_BYTES)
        return false;
    memcpy(out, host, n);
    out[n] = 0;
    if (digits != NULL && !node_name_port(digits, port))
        return false;
    if (strchr(out, ':') == NULL)
        return *text != '[' && node_name_chars(out, HOST_MORE);
    if (!node_name_chars(out, ADDRESS_MORE))
        return false;
    n = strcspn(out, "%");
    char zone = out[n];
    out[n] = 0;
    bool ok = inet_pton(AF_INET6, out, &literal) == 1;
    out[n] = zone;
    return ok;
}

bool node_name_parse(const char *text, struct node_name *out)
{
    const char *at = strchr(text, '@');
    size_t n = at != NULL ? (size_t)(at - text) : 0;

    if (n == 0 || n >= sizeof out->alive)
        return false;
    memcpy(out->alive, text, n);
    out->alive[n] = 0;
    if (!node_name_chars(out->alive, ".+") || !take_host(at + 1, out->host, &out->port))
        return false;
    if (n + 1 + strlen(out->host) >= sizeof out->full)
        return false;
    memcpy(out->full, text, n + 1);
    memcpy(out->full + n + 1, out->host, strlen(out->host) + 1);
    return true;
}

bool node_name_address(const char *text, char host[NODE_NAME_BYTES], uint16_t *port)
{
    return take_host(text, host, port) && *port != 0;
}
