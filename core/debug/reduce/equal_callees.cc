// Reductions of computations that compute the same as others: their callers call one of them.
#include <algorithm>
#include <map>
#include <vector>

#include "core/analysis/align/fingerprint.h"
#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::Attribute;
using hlo::ComputationId;
using hlo::InstructionId;

// A computation, and the first one that computes the same.
using Twins = std::vector<std::pair<uint32_t, uint32_t>>;

Twins TwinsOf(const hlo::Module& module) {
  const std::vector<uint64_t> hashes = analysis::Fingerprint(module).computations;
  std::map<uint64_t, uint32_t> first;
  Twins twins;
  for (uint32_t c = 0; c < hashes.size(); ++c) {
    if (ComputationId(c) == module.entry_id()) continue;
    const auto [at, is_new] = first.emplace(hashes[c], c);
    if (!is_new) twins.emplace_back(c, at->second);
  }
  return twins;
}

std::optional<Candidate> WithoutTwins(const Candidate& from, size_t begin, size_t end) {
  const hlo::Module& module = *from.module;
  const Twins twins = TwinsOf(module);
  std::map<uint32_t, uint32_t> other;
  for (size_t i = begin; i < std::min(end, twins.size()); ++i) other.insert(twins[i]);
  const auto instead_of = [&](uint32_t c) { return other.contains(c) ? other[c] : c; };
  hlo::ModuleBuilder builder = hlo::CopyModule(module);
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    for (const Attribute& a : module.attributes(module[id])) {
      const hlo::ValueKind kind = hlo::Info(a.key).kind;
      if (kind == hlo::ValueKind::kComputation) {
        builder.SetAttribute(id,
                             builder.MakeComputation(a.key, ComputationId(instead_of(a.value))));
      } else if (kind == hlo::ValueKind::kComputations) {
        std::vector<uint32_t> ids;
        for (const uint32_t c : module.IdsOf(a)) ids.push_back(instead_of(c));
        builder.SetAttribute(id, builder.MakeIds(a.key, ids));
      }
    }
  }
  const Candidate candidate{builder.Build(), from.arguments};
  return Edit(candidate).Finish();
}

}  // namespace

void ShareCallees(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return TwinsOf(*c.module).size(); }, WithoutTwins);
}

}  // namespace hloscope::debug
