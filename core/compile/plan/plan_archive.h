// A plan as bytes, in a cache and in .hloplan files. The files stay readable: a new member comes
// with a new version of them (core/dump/plan_file.h).
#pragma once

#include "core/base/byte_archive.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

/// A list, each element by `one`: for structs that would be written as they lie in memory.
template <typename A, typename List, typename One>
void ArchiveEach(A& a, List& list, const One& one) {
  if constexpr (A::kWrites) {
    a(uint64_t{list.size()});
    for (const auto& each : list) one(each);
  } else {
    const auto count = a.template Get<uint64_t>();
    for (uint64_t i = 0; i < count && a.ok(); ++i) one(list.emplace_back());
  }
}

// All members by name here and below, so that a new one does not compile until it is written.
template <typename A>
void Archive(A& a, Archived<A, PlannedStep>& step) {
  auto& [kind, id, operands, results, sequences, number, last_number, is_one_function] = step;
  a(kind, id, operands, results, sequences, number, last_number, is_one_function);
}

/// All but the module. What is read may be anything: CheckPlan.
template <typename A>
void Archive(A& a, Archived<A, Plan>& plan) {
  auto& [module, computation, buffers, sequences, parameters, results, arena_bytes, result_buffers,
         live_bytes] = plan;
  a(computation);
  ArchiveEach(a, buffers, [&a](auto& buffer) {
    auto& [place, bytes, at, made_by, first, last] = buffer;
    a(place, bytes, at, made_by, first, last);
  });
  a(sequences, parameters, results, arena_bytes, result_buffers, live_bytes);
}

}  // namespace hloscope::compile
