#include <assert.h>
#include <kprof/core/time_part.h>

static const struct {
    const char *name;
    char letter;
} parts[PART_COUNT] = {
    [PART_RUN] = {"run", 'r'},         [PART_RUN_QUEUE] = {"run queue", 'q'},
    [PART_GC] = {"gc", 'g'},           [PART_DIRTY] = {"dirty", 'd'},
    [PART_PORT] = {"port", 'p'},       [PART_WAIT] = {"wait", 'w'},
    [PART_MAILBOX] = {"mailbox", 'm'}, [PART_UNKNOWN] = {"unknown", '?'},
};

const char *time_part_name(enum time_part p)
{
    assert(p < PART_COUNT);
    return parts[p].name;
}

char time_part_letter(enum time_part p)
{
    assert(p < PART_COUNT);
    return parts[p].letter;
}
