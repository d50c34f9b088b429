// Reductions until nothing helps any more.
#include "core/debug/reduce/reductions.h"

#include <array>
#include <memory>
#include <string_view>

namespace hloscope::debug {

void RunReductions(Search& search) {
  struct Row {
    void (*reduce)(Search&);
    std::string_view name;
    Candidate done = {};  // made no smaller by this one
  };
  std::array rows = {
#define REDUCTION(function, name) Row{function, name},
#include "core/debug/reduce/reductions.def"
#undef REDUCTION
  };
  const auto is_done = [&](const Row& row) {
    return row.done.module == search.best().module &&
           row.done.arguments.size() == search.best().arguments.size();
  };
  for (bool changed = true; changed && !search.stopped();) {
    changed = false;
    for (Row& row : rows) {
      if (search.stopped() || is_done(row)) continue;
      search.set_reduction(row.name);
      const auto before = search.best().module;
      row.reduce(search);
      changed |= search.best().module != before;
      row.done = search.best();
    }
  }
}

}  // namespace hloscope::debug
