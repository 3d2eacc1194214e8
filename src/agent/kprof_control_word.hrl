%% The bits of the control word (erlang:system_info(trace_control_word)) and of the labels of trace tokens. PROTOCOL.md has them.

%% The control word: a code in the bits above ?TICKET_BITS, and the ticket below. Ticket 0: a process is taking a ticket. Code:
%% the cut, plus 1; or ?LIMIT + 0 to 7: no cut, and a limit; or ?BRAKE. The VM keeps 32 bits of it.
-define(TICKET_BITS, 27).
-define(TICKETS, 16#7ffffff).
-define(CUT_BITS, 16#f8000000).
-define(CUT_MOST, 20).
-define(NO_CUT, 1).
-define(LIMIT, 22).
-define(LIMIT_END, 30).
-define(BRAKE, 31).
-define(BLOCKS, 7). % a mask: tickets are counted in blocks, these in turn
-define(ALLOWED, 4). % blocks: that of the limit, and the next three
-define(AHEAD, 16). % maximum number of tickets that are skipped
%% A label: epoch, detail, ticket.
-define(LOW, 16#ffffffff). % the ticket's bits of a label
-define(WITHOUT_DETAIL, 16#ffffffffffff). % epoch and ticket
-define(DETAIL, 16#1000000000000). % the bit of a label above them: the request is followed in detail
