// One of the two modules of an alignment: hashes, users and operands seen through fusions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::debug {

// Fusing and inlining do not change what an operand is: its resolved form is the instruction that
// computes it, through parameters of called computations, results of fusions and calls, and
// tuples.
class AlignmentSide {
 public:
  explicit AlignmentSide(const hlo::Module& module);

  const hlo::Module& module() const { return module_; }
  size_t size() const { return module_.instructions().size(); }
  const hlo::Instruction& operator[](uint32_t id) const { return module_.instructions()[id]; }

  // Opcode, shape without layouts and attributes that say what is computed.
  uint64_t local(uint32_t id) const { return local_[id]; }
  // Opcode and shape without layouts.
  uint64_t kind(uint32_t id) const { return kind_[id]; }
  // Of metadata op_name and place in the source; 0 where there is no op_name.
  uint64_t origin(uint32_t id) const { return origin_[id]; }
  std::string_view op_name(uint32_t id) const;

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
    return caller_count_[c.index] == 1 ? caller_[c.index] : kNone;
  }
  uint32_t FirstCaller(hlo::ComputationId c) const { return caller_[c.index]; }
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
  void FindCallers();
  void FindHomes();
  void ResolveOperands();
  void FindUsers();
  bool StepThrough(uint32_t& id) const;

  const hlo::Module& module_;
  std::vector<uint64_t> local_, kind_, origin_;
  std::vector<uint32_t> caller_, caller_count_;
  std::vector<uint32_t> first_, resolved_, first_user_, users_;
  std::vector<uint8_t> transparent_;
  std::vector<hlo::ComputationId> homes_;
};

uint64_t MixHash(uint64_t a, uint64_t b);

}  // namespace hloscope::debug
