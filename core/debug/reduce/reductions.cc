// Reductions until nothing helps any more.
#include "core/debug/reduce/reductions.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace hloscope::debug {

namespace {

struct Row {
  void (*reduce)(Search&);
  std::string_view name;
  Candidate done = {};  // made no smaller by this one
};

bool IsSame(const Candidate& a, const Candidate& b) {
  return a.module == b.module && a.arguments.size() == b.arguments.size();
}

template <size_t n>
void RunRounds(Search& search, std::array<Row, n>& rows) {
  for (bool changed = true; changed && !search.stopped();) {
    changed = false;
    for (Row& row : rows) {
      if (search.stopped() || IsSame(row.done, search.best())) continue;
      search.set_reduction(row.name);
      const auto before = search.best().module;
      row.reduce(search);
      changed |= search.best().module != before;
      row.done = search.best();
    }
  }
}

}  // namespace

void RunReductions(Search& search) {
  // What can go in large pieces goes first: trying each instruction of a large module takes long.
  constexpr size_t kLargePieces = 16;
  for (const size_t most_pieces : {kLargePieces, SIZE_MAX}) {
    std::array rows = {
#define REDUCTION(function, name) Row{function, name},
#include "core/debug/reduce/reductions.def"
#undef REDUCTION
    };
    search.set_most_pieces(most_pieces);
    RunRounds(search, rows);
  }
}

}  // namespace hloscope::debug
