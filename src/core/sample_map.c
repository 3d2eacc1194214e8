#include <kprof/base/must.h>
#include <kprof/core/sample_map.h>

#include <assert.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

static uint64_t second_of(const struct sample_map *m, uint64_t time_ns)
{
    return (time_ns + m->zero_ns) / SECOND;
}

uint64_t sample_map_begin_ns(const struct sample_map *m, uint64_t cell)
{
    uint64_t at = (m->from_s + cell / m->lines) * SECOND + cell % m->lines * (SECOND / m->lines);
    return at > m->zero_ns ? at - m->zero_ns : 0;
}

/* The cell of a time that is not before the map; it may be after it. */
static uint64_t cell_of(const struct sample_map *m, uint64_t time_ns)
{
    uint64_t since = time_ns + m->zero_ns - m->from_s * SECOND;
    return since / (SECOND / m->lines);
}

uint64_t sample_map_cell(const struct sample_map *m, uint64_t time_ns)
{
    if (second_of(m, time_ns) < m->from_s)
        return 0;
    uint64_t cell = cell_of(m, time_ns), last = sample_map_cells(m) - 1;
    return cell < last ? cell : last;
}

uint64_t sample_map_sum(const struct sample_map *m, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    to = to < sample_map_cells(m) ? to : sample_map_cells(m);
    for (uint64_t i = from; i < to; i++)
        sum += m->width[i];
    return sum;
}

/* From all samples: their times, and the cells that have some. */
struct seen {
    uint64_t first_ns, last_ns;   /* of the view */
    uint64_t before_ns, after_ns; /* the nearest to the map, outside of it; 0: none */
    bool *cell;
};

static bool find_times(const struct stack_view *v, struct seen *k)
{
    size_t n = stack_view_count(v);
    k->first_ns = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = stack_view_at(v, i)->time_ns;
        k->first_ns = at && at < k->first_ns ? at : k->first_ns;
        k->last_ns = at > k->last_ns ? at : k->last_ns;
    }
    return k->last_ns > 0;
}

static void place(struct sample_map *m, const struct sample_map_query *q,
                  const struct stack_profile *p, const struct seen *k)
{
    int64_t wall = stack_profile_meta(p)->wall_ns;
    m->zero_ns = wall > 0 ? (uint64_t)wall : 0;
    m->lines = q->lines;
    m->first_s = second_of(m, k->first_ns);
    m->newest_s = second_of(m, k->last_ns);
    uint64_t end = q->end_s ? q->end_s : m->newest_s + 1;
    m->cols = q->cols;
    m->from_s = end > q->cols ? end - q->cols : 0;
}

static void add(struct sample_map *m, const struct stack_view *v, size_t i,
                const struct sample_map_query *q, const struct flame_filter *f, struct seen *k)
{
    uint64_t at = stack_view_at(v, i)->time_ns, s = second_of(m, at);
    if (at == 0)
        return;
    if (s < m->from_s) {
        k->before_ns = at > k->before_ns ? at : k->before_ns;
        return;
    }
    if (s >= m->from_s + m->cols) {
        k->after_ns = k->after_ns == 0 || at < k->after_ns ? at : k->after_ns;
        return;
    }
    uint64_t cell = cell_of(m, at);
    k->cell[cell] = true;
    if (!flame_passes(v, i, f))
        return;
    uint64_t width = flame_sample_width(v, i, q->by, q->metric);
    if (width > UINT64_MAX / 4 - m->total)
        return;
    m->width[cell] += width;
    m->total += width;
    m->top = m->width[cell] > m->top ? m->width[cell] : m->top;
}

/* Runs of cells without samples. */
static void find_gaps(struct sample_map *m, const struct stack_profile *p, const struct seen *k)
{
    uint64_t least = 3 * stack_profile_meta(p)->interval_ns, n = sample_map_cells(m);
    least = least > SAMPLE_MAP_GAP_NS ? least : SAMPLE_MAP_GAP_NS;
    for (uint64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && k->cell[end] == k->cell[i]; end++) {
        }
        if (k->cell[i])
            continue;
        uint64_t from = i > 0 ? sample_map_begin_ns(m, i) : k->before_ns;
        uint64_t to = end < n ? sample_map_begin_ns(m, end) : k->after_ns;
        bool edge = (i == 0 && !k->before_ns) || (end == n && !k->after_ns);
        for (uint64_t c = i; c < end && (edge || to - from >= least); c++)
            m->gap[c] = true;
    }
}

struct sample_map *sample_map_make(const struct stack_view *v, const struct sample_map_query *q)
{
    struct seen k = {0};
    struct flame_filter f = q->filter;
    assert(q->cols > 0 && q->cols <= SAMPLE_MAP_COLS);
    assert(q->lines > 0 && q->lines <= SAMPLE_MAP_LINES && SECOND % q->lines == 0);
    if (!find_times(v, &k))
        return NULL;
    struct sample_map *m = must(calloc(1, sizeof *m));
    f.from_ns = f.to_ns = 0;
    place(m, q, stack_view_profile(v), &k);
    size_t cells = (size_t)sample_map_cells(m);
    m->width = must(calloc(cells, sizeof *m->width));
    m->gap = must(calloc(cells, sizeof *m->gap));
    k.cell = must(calloc(cells, sizeof *k.cell));
    for (size_t i = 0; i < stack_view_count(v); i++)
        add(m, v, i, q, &f, &k);
    find_gaps(m, stack_view_profile(v), &k);
    free(k.cell);
    return m;
}

void sample_map_free(struct sample_map *m)
{
    if (!m)
        return;
    free(m->width);
    free(m->gap);
    free(m);
}
