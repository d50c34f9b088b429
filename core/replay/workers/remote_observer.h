// RemoteObserver: an observer that can be sent to where the run is, and what it found sent back.
#pragma once

#include <memory>
#include <string_view>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

class RemoteObserver : public eval::Observer {
 public:
  // The row of the table of observers that makes another like this.
  virtual std::string_view kind() const = 0;
  // What it looks for.
  virtual void WriteRequest(ValueWriter& out) const = 0;
  // What it has found, and the same on the other side: afterwards it is as if it had watched the
  // run itself. Input error: garbled.
  virtual void WriteFindings(ValueWriter& out) const = 0;
  virtual Status ReadFindings(ValueReader& in) = 0;
};

struct ObserverRow {
  std::string_view kind;
  // One that looks for what the request says; the module outlives it. Null: garbled.
  std::unique_ptr<RemoteObserver> (*make)(const hlo::Module& module, ValueReader& request);
};

}  // namespace hloscope::replay
