// Reductions of numbers: constants, and the values of parameters.
#include <algorithm>
#include <array>
#include <vector>

#include "core/debug/reduce/literals.h"
#include "core/debug/reduce/reductions.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;

constexpr std::array kWays = {Simpler::kZeros,  Simpler::kOnes,     Simpler::kUniform,
                              Simpler::kHalves, Simpler::kOneDigit, Simpler::kThreeDigits};
constexpr size_t kMaxPieces = 16;        // that the elements of inputs are taken in
constexpr size_t kMaxElements = 100000;  // of an input that is looked into

// Constants that can be made simpler, with what they become.
std::vector<std::pair<InstructionId, Literal>> Constants(const hlo::Module& module, Simpler how) {
  std::vector<std::pair<InstructionId, Literal>> sites;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    const auto* value = module.Get<Literal>(module[id], AttributeKey::kConstantValue);
    if (value == nullptr) continue;
    if (auto simpler = Simplified(*value, how)) sites.emplace_back(id, *std::move(simpler));
  }
  return sites;
}

bool IsLookedInto(const Literal& literal) {
  return !IsUnknown(literal) && literal.shape().IsArray() && !literal.elided() &&
         static_cast<size_t>(literal.shape().ElementCount().value_or(0)) <= kMaxElements;
}

std::vector<std::pair<size_t, Literal>> Inputs(const Candidate& candidate, Simpler how) {
  std::vector<std::pair<size_t, Literal>> sites;
  for (size_t i = 0; i < candidate.arguments.size(); ++i) {
    if (!IsLookedInto(candidate.arguments[i])) continue;
    if (auto simpler = Simplified(candidate.arguments[i], how)) {
      sites.emplace_back(i, *std::move(simpler));
    }
  }
  return sites;
}

size_t NonZeros(const Candidate& candidate) {
  size_t count = 0;
  for (const Literal& argument : candidate.arguments) {
    if (IsLookedInto(argument)) count += CountNonZeros(argument);
  }
  return count;
}

// With zeros for the elements [begin, end) of all that are not zero.
Candidate WithoutElements(const Candidate& from, size_t begin, size_t end) {
  Candidate candidate = from;
  size_t before = 0;
  for (Literal& argument : candidate.arguments) {
    if (!IsLookedInto(argument)) continue;
    const size_t count = CountNonZeros(argument);
    if (begin < before + count && end > before) {
      argument = WithZeros(argument, std::max(begin, before) - before, end - before);
    }
    before += count;
  }
  return candidate;
}

}  // namespace

void SimplifyConstants(Search& search) {
  for (const Simpler how : kWays) {
    search.RemoveChunks(
        [how](const Candidate& c) { return Constants(*c.module, how).size(); },
        [how](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
          const auto sites = Constants(*c.module, how);
          hlo::ModuleBuilder builder = hlo::CopyModule(*c.module);
          for (size_t i = begin; i < std::min(end, sites.size()); ++i) {
            builder.SetAttribute(sites[i].first,
                                 builder.Make(AttributeKey::kConstantValue, sites[i].second));
          }
          return Candidate{builder.Build(), c.arguments};
        },
        Search::Need::kAnySize);
  }
}

void SimplifyInputs(Search& search) {
  for (const Simpler how : kWays) {
    search.RemoveChunks(
        [how](const Candidate& c) { return Inputs(c, how).size(); },
        [how](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
          auto sites = Inputs(c, how);
          Candidate candidate = c;
          for (size_t i = begin; i < std::min(end, sites.size()); ++i) {
            candidate.arguments[sites[i].first] = std::move(sites[i].second);
          }
          return candidate;
        },
        Search::Need::kAnySize);
  }
  search.RemoveChunks(
      NonZeros,
      [](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
        return WithoutElements(c, begin, end);
      },
      Search::Need::kAnySize, kMaxPieces);
}

}  // namespace hloscope::debug
