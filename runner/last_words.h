// How the program ends where it can't be taken down any more: there is no memory even for the error that says so.
#pragma once

namespace flowrun::runner {

// An std::bad_alloc that nobody can catch, because it leaves a function that must not throw or the handler of another
// error, ends the process at once, with exit code and message instead of a core dump; and so does oneTBB where it can't
// start a thread. Outputs have no names by then, and scratch files never have any, so nothing half-done is left.
void set_last_words();

}  // namespace flowrun::runner
