#include "account.h"
#include "state.h"

void account_expire(struct core *c, uint32_t at)
{
    struct call *f = &c->calls.call[at];

    if (f->kind == CALL_ACCOUNTED)
        return;
    account_call_expired(&c->account);
    if (f->kind == CALL_MEMBER) {
        struct request *r = &c->requests.req[f->req];
        if (r->entry == at && r->state == REQ_OPEN)
            requests_move(&c->requests, f->req, REQ_EXPIRING);
    }
    f->kind = CALL_ACCOUNTED;
}

void account_unattribute(struct core *c, uint32_t at)
{
    struct call *f = &c->calls.call[at];

    account_call_unattributed(&c->account, f->tier, f->start_ns);
    f->kind = CALL_ACCOUNTED;
}
