/* Offers curses the built-in entry of a terminal that this machine has no entry for.
 *
 * Changes the environment: to be used while the program has one thread. */
#ifndef UI_TERMINFO_H
#define UI_TERMINFO_H

/* Sets TERMINFO to the built-in entry of the terminal. Returns the former value of TERMINFO, ""
 * if there was none, for terminfo_withdraw; NULL: there is no such entry. */
char *terminfo_offer(const char *name);
/* Restores and frees the former value; NULL is fine. Programs started later get it as it was. */
void terminfo_withdraw(char *former);

#endif
