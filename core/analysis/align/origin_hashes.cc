// op_names as inlining writes them, and places out of the stack frame tables.
#include "core/analysis/align/origin_hashes.h"

#include <string>

#include "core/analysis/align/alignment_side.h"
#include "core/base/quick_hash.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Module;

constexpr uint32_t kNoCaller = 0xffffffffu;
constexpr size_t kMaxPrefix = 4096;  // bytes of op_names in front
constexpr int kMaxFrames = 128;

struct PlaceHash {
  uint64_t exact = 0, near = 0;  // 0: no place is known
};

class Places {
 public:
  Places(const Module& module, bool with_frames)
      : tables_(module.header().stack_frames), with_frames_(with_frames) {
    known_.resize(tables_.frames.size());
  }

  PlaceHash Of(const hlo::OpMetadata& metadata) {
    if (metadata.stack_frame_id == 0) {
      auto line = static_cast<uint64_t>(metadata.source_line);
      return line == 0 ? PlaceHash{} : PlaceHash{line, line};
    }
    auto frame = static_cast<size_t>(metadata.stack_frame_id) - 1;
    if (!with_frames_ || frame >= tables_.frames.size()) return {frame + 1, frame + 1};
    if (known_[frame].near == 0) known_[frame] = Walk(frame);
    return known_[frame];
  }

 private:
  PlaceHash Walk(size_t frame) const {
    PlaceHash hash{1, Begin(frame) | 1};
    for (int steps = 0; steps < kMaxFrames && frame < tables_.frames.size(); ++steps) {
      hash.exact = MixKeys(hash.exact, Location(frame)) | 1;
      frame = static_cast<size_t>(tables_.frames[frame].parent_frame_id) - 1;
    }
    return hash;
  }
  uint64_t Location(size_t frame) const {
    auto at = static_cast<size_t>(tables_.frames[frame].file_location_id) - 1;
    if (at >= tables_.locations.size()) return frame;
    return MixKeys(Begin(frame), static_cast<uint64_t>(tables_.locations[at].end_column));
  }
  // Going through Shardy loses where an expression ends.
  uint64_t Begin(size_t frame) const {
    auto at = static_cast<size_t>(tables_.frames[frame].file_location_id) - 1;
    if (at >= tables_.locations.size()) return frame;
    const auto& place = tables_.locations[at];
    return MixKeys(static_cast<uint64_t>(place.line), static_cast<uint64_t>(place.column));
  }

  const hlo::StackFrames& tables_;
  bool with_frames_;
  std::vector<PlaceHash> known_;  // by frame; near 0: not looked
};

// What inlining puts in front of the op_names of a computation, and the place it gives to those
// without one.
struct InlinedInto {
  std::string prefix;
  PlaceHash place;
};

class Inliner {
 public:
  Inliner(const Module& module, std::span<const uint32_t> only_caller, Places& places)
      : module_(module), only_caller_(only_caller), places_(places) {}

  std::vector<InlinedInto> Run() {
    into_.resize(module_.computations().size());
    state_.resize(into_.size(), kNew);
    for (uint32_t c = 0; c < into_.size(); ++c) {
      for (stack_.assign(1, c); !stack_.empty();) Visit(stack_.back());
    }
    return std::move(into_);
  }

 private:
  enum : uint8_t { kNew, kOpen, kDone };

  // The call a computation is inlined at; kNoCaller where it is called otherwise.
  uint32_t CallOf(uint32_t c) const {
    uint32_t caller = only_caller_[c];
    bool call = caller != kNoCaller && module_.instructions()[caller].opcode == hlo::Opcode::kCall;
    return call ? caller : kNoCaller;
  }

  void Visit(uint32_t c) {
    uint32_t call = CallOf(c);
    uint32_t outer = call == kNoCaller ? c : module_.instructions()[call].computation.index;
    // One that is being looked at calls itself: the chain ends there.
    if (state_[c] == kNew && call != kNoCaller && state_[outer] == kNew) {
      state_[c] = kOpen;
      stack_.push_back(outer);
      return;
    }
    stack_.pop_back();
    if (state_[c] != kDone && call != kNoCaller) PutInFront(c, call, into_[outer]);
    state_[c] = kDone;
  }

  void PutInFront(uint32_t c, uint32_t call, const InlinedInto& outer) {
    const auto* metadata =
        module_.Get<hlo::OpMetadata>(module_.instructions()[call], AttributeKey::kMetadata);
    if (metadata == nullptr || outer.prefix.size() > kMaxPrefix) return;
    std::string_view name = module_[metadata->op_name];
    if (!name.empty()) into_[c].prefix = outer.prefix + std::string(name) + "/";
    into_[c].place = places_.Of(*metadata);
    if (into_[c].place.near == 0) into_[c].place = outer.place;
  }

  const Module& module_;
  std::span<const uint32_t> only_caller_;
  Places& places_;
  std::vector<InlinedInto> into_;  // by computation
  std::vector<uint8_t> state_;
  std::vector<uint32_t> stack_;
};

}  // namespace

OriginHashes HashOrigins(const Module& module, std::span<const uint32_t> only_caller,
                         bool with_frames) {
  Places places(module, with_frames);
  std::vector<InlinedInto> inlined = Inliner(module, only_caller, places).Run();
  OriginHashes hashes;
  hashes.exact.resize(module.instructions().size(), 0);
  hashes.near.resize(module.instructions().size(), 0);
  hashes.name.resize(module.instructions().size(), 0);
  for (uint32_t id = 0; id < hashes.exact.size(); ++id) {
    const hlo::Instruction& i = module.instructions()[id];
    const auto* metadata = module.Get<hlo::OpMetadata>(i, AttributeKey::kMetadata);
    if (metadata == nullptr || module[metadata->op_name].empty()) continue;
    const InlinedInto& into = inlined[i.computation.index];
    std::string_view name = module[metadata->op_name];
    uint64_t hash = into.prefix.empty() ? hlo::HashBytes(name)
                                        : hlo::HashBytes(into.prefix + std::string(name));
    PlaceHash place = places.Of(*metadata);
    if (place.near == 0) place = into.place;
    hashes.name[id] = hash | 1;
    hashes.exact[id] = MixKeys(hash, place.exact) | 1;
    hashes.near[id] = MixKeys(hash, place.near) | 1;
  }
  hashes.prefixes.reserve(inlined.size());
  for (InlinedInto& into : inlined) hashes.prefixes.push_back(std::move(into.prefix));
  return hashes;
}

}  // namespace hloscope::analysis
