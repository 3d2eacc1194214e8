/* Frames and processes as files of stacks write them. Private to core. Pure, except that it adds to
 * the profile. */
#ifndef KPROF_CORE_FRAME_PARSE_H
#define KPROF_CORE_FRAME_PARSE_H

#include <kprof/core/stack_profile.h>

/* Reads at most `most` digits from s[*i]; false: there are none, or more. */
bool frame_parse_number(const char *s, size_t n, size_t *i, size_t most, uint64_t *v);
/* The frame of M:F/A; another text is a function without module. line 0: not known. */
uint32_t frame_parse(struct stack_profile *p, const char *s, size_t n, uint32_t line,
                     uint32_t file);
/* A process of the node itself, 0.80.0; 0: it is something else. */
uint64_t frame_parse_process(const char *s, size_t n);

#endif
