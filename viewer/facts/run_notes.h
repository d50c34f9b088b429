// RunNotes: what is known of the run that left the dump: errors of its logs; of a bundle its fault
// and what came of replaying it.
#pragma once

#include <string>
#include <vector>

#include "core/dump/logged_errors.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

struct RunNotes {
  dump::LoggedErrors logged;
  std::vector<std::string> bundle;  // sentences; empty: no bundle is open
  std::string fault;                // what its run showed
};
const Pending<RunNotes>& RunNotesOf(Context& context);

// "train.py:4: unsupported_op, …; fix: …".
std::string LoggedErrorText(const dump::DumpModel& dump, const dump::LoggedError& error);
// Of errors alone, without warnings and notes: "2 errors in the log of the run; the first: …";
// empty: there are none.
std::string FailureText(const dump::DumpModel& dump, const RunNotes& notes);

// "PyTorch/XLA ran aten::i0, aten::nonzero there": what the record of the run counted; empty:
// nothing.
std::string HostFallbackText(const RunNotes& notes);

}  // namespace hloscope::viewer
