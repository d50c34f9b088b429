// Candidate: a module on its way to the smallest one, with the values that its parameters take.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct Candidate {
  std::shared_ptr<const hlo::Module> module;
  // One per parameter of the entry. A literal without a shape is a value that nobody knows: it is
  // made up for the module it is in.
  std::vector<hlo::Literal> arguments;
};

// What is made small, the first first.
struct CandidateSize {
  size_t instructions = 0;  // of all computations
  int64_t bytes = 0;        // of the values of all instructions; bounds where it would overflow
  size_t text = 0;          // characters of the module, large constants aside
  auto operator<=>(const CandidateSize&) const = default;
};
CandidateSize SizeOf(const Candidate& candidate);

// Equal for candidates of the same module, texts and all, and the same values.
uint64_t FingerprintOf(const Candidate& candidate);

inline bool IsUnknown(const hlo::Literal& literal) {
  return literal.shape().element_type() == hlo::ElementType::kInvalid;
}

}  // namespace hloscope::debug
