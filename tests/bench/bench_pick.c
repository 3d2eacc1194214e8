/* The time of a key in the function picker, with catalogs of 30,000 and 200,000 functions. ms per
 * key, the slowest key of each text, median of 5 runs. */
#include <kprof/base/clock.h>
#include <kprof/core/catalog_filter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5 };

static struct catalog *made_up(unsigned functions)
{
    static const char *const words[] = {"handle",  "server", "call",  "query", "update", "cache",
                                        "session", "worker", "parse", "route", "encode", "stream",
                                        "token",   "user",   "order", "event"};
    struct catalog *c = catalog_new();
    char name[64];
    uint32_t x = 1;
    for (unsigned i = 0; i < functions; i++) {
        if (i % 45 == 0) { /* functions per module */
            x = x * 1664525u + 1013904223u;
            snprintf(name, sizeof name, "%s_%s_%u:", words[x >> 28], words[x >> 24 & 15], i / 45);
            catalog_module(c, name, "app", i % 3);
        }
        x = x * 1664525u + 1013904223u;
        snprintf(name, sizeof name, "%s_%s%u", words[x >> 28], words[x >> 24 & 15], x >> 20 & 15);
        catalog_function(c, name, x >> 16 & 3, x >> 12 & 1);
    }
    return c;
}

/* Types text, then deletes it; returns the time of the slowest key in ms. */
static double slowest(const struct catalog *c, const char *text)
{
    struct catalog_filter s;
    char typed[64] = "";
    double worst = 0;
    size_t n = strlen(text);
    catalog_filter_init(&s);
    catalog_filter_update(&s, c, "");
    for (size_t i = 1; i <= 2 * n; i++) {
        size_t len = i <= n ? i : 2 * n - i;
        memcpy(typed, text, len);
        typed[len] = 0;
        uint64_t begin = clock_mono_ns();
        catalog_filter_update(&s, c, typed);
        double ms = (double)(clock_mono_ns() - begin) / 1e6;
        worst = ms > worst ? ms : worst;
    }
    catalog_filter_release(&s);
    return worst;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static const char *const texts[] = {"e", "handle_call", "session update", "usrqry2", "zzz"};
    static const unsigned sizes[] = {30000, 200000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct catalog *c = made_up(sizes[k]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            double ms[RUNS];
            for (int r = 0; r < RUNS; r++)
                ms[r] = slowest(c, texts[i]);
            qsort(ms, RUNS, sizeof *ms, by_value);
            printf("picker, %6u functions, typing and deleting \"%s\": %.2f ms the slowest key "
                   "(limit: 10 ms at 30,000)\n",
                   sizes[k], texts[i], ms[RUNS / 2]);
        }
        catalog_free(c);
    }
    return 0;
}
