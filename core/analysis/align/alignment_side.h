// One of the two modules of an alignment: hashes, users and operands seen through fusions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// Fusing and inlining do not change what an operand is: its resolved form is the instruction that
// computes it, through parameters of called computations, results of fusions and calls, and
// tuples.
class AlignmentSide {
 public:
  // `with_frames`: both modules of the alignment have tables of stack frames, so that places in the
  // source can be compared rather than numbers of frames.
  AlignmentSide(const hlo::Module& module, bool with_frames);

  const hlo::Module& module() const { return module_; }
  size_t size() const { return module_.instructions().size(); }
  const hlo::Instruction& operator[](uint32_t id) const { return module_.instructions()[id]; }

  // Opcode, shape without layouts and attributes that say what is computed.
  uint64_t local(uint32_t id) const { return local_[id]; }
  // Opcode and shape without layouts.
  uint64_t kind(uint32_t id) const { return kind_[id]; }
  // Of metadata op_name, with those of the calls it would be inlined into in front, and place in
  // the source; 0 where there is no op_name.
  uint64_t origin(uint32_t id) const { return origin_[id]; }
  // The same with the innermost place only: inlining adds frames of the caller.
  uint64_t near_origin(uint32_t id) const { return near_origin_[id]; }
  uint64_t name_origin(uint32_t id) const { return name_origin_[id]; }  // without any place
  std::string_view op_name(uint32_t id) const;
  // What inlining would put in front of it.
  std::string_view prefix(uint32_t id) const { return prefixes_[(*this)[id].computation.index]; }

  // Resolved operands, and users by resolved operands.
  std::span<const uint32_t> operands(uint32_t id) const {
    return std::span(resolved_).subspan(first_[id], first_[id + 1] - first_[id]);
  }
  std::span<const uint32_t> users(uint32_t id) const {
    return std::span(users_).subspan(first_user_[id], first_user_[id + 1] - first_user_[id]);
  }
  // Nothing but a name for another instruction's value.
  bool IsTransparent(uint32_t id) const { return transparent_[id] != 0; }
  // The only instruction that calls a computation; kNone where there is none or several.
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t OnlyCaller(hlo::ComputationId c) const {
    return hlo::CallGraphOf(module_).OnlyCaller(c).index;
  }
  uint32_t FirstCaller(hlo::ComputationId c) const {
    return hlo::CallGraphOf(module_).FirstCaller(c).index;
  }
  // The computation that holds `id` when every fusion and call is opened.
  hlo::ComputationId Home(uint32_t id) const { return homes_[(*this)[id].computation.index]; }
  // The computation of a fusion or call; invalid for any other instruction.
  hlo::ComputationId Body(uint32_t id) const;
  // The resolved form of `id`.
  uint32_t Resolve(uint32_t id) const;

  // Hashes of everything within `radius` resolved operands and users.
  std::vector<uint64_t> Surroundings(int radius) const;

 private:
  void HashInstructions();
  void FindHomes();
  void ResolveOperands();
  void FindUsers();
  bool StepThrough(uint32_t& id) const;

  const hlo::Module& module_;
  std::vector<uint64_t> local_, kind_, origin_, near_origin_, name_origin_;
  std::vector<uint32_t> first_, resolved_, first_user_, users_;
  std::vector<uint8_t> transparent_;
  std::vector<std::string> prefixes_;
  std::vector<hlo::ComputationId> homes_;
};

// Whether both have an op_name and, as inlining would write them, one is the other or its end after
// a `/`.
bool NamesAgree(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a);
// Whether both have an op_name and those do not agree.
bool NamesDiffer(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a);

}  // namespace hloscope::analysis
