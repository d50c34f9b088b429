// Edit: a module on its way through a pass: a Rewriter that knows which value replaced which.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/compile/passes/pass.h"
#include "core/compile/run_computations.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::compile {

// A row-major array of these sizes.
inline hlo::Shape PlainArray(hlo::ElementType type, std::span<const int64_t> sizes) {
  return hlo::Shape::Array(type, std::vector<int64_t>(sizes.begin(), sizes.end()));
}

// True if the module has an instruction of that opcode; else its passes have nothing to edit.
inline bool HasOpcode(const hlo::Module& module, hlo::Opcode opcode) {
  return std::ranges::find(module.instructions(), opcode, &hlo::Instruction::opcode) !=
         module.instructions().end();
}

// An array of a size that is known, without elements too.
inline bool IsStaticArray(const hlo::Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.ByteSize().has_value();
}

// The sizes of an array's dimensions.
inline std::vector<int64_t> SizesOf(const hlo::Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

class Edit {
 public:
  explicit Edit(std::shared_ptr<const hlo::Module> module);

  hlo::Rewriter& rewriter() { return rewriter_; }
  const hlo::Rewriter& rewriter() const { return rewriter_; }
  const hlo::Module& original() const { return *original_; }
  // Holds the values of attributes, of old and new instructions.
  const hlo::Module& values() { return rewriter_.builder().module(); }

  hlo::Opcode opcode(hlo::InstructionId id) const { return rewriter_.opcode(id); }
  const hlo::Shape& shape(hlo::InstructionId id) const { return rewriter_.shape(id); }
  hlo::InstructionId operand(hlo::InstructionId id, size_t slot) const {
    return rewriter_.operand(id, slot);
  }
  // The attribute of that key, or null; valid until the next edit.
  const hlo::Attribute* Find(hlo::InstructionId id, hlo::AttributeKey key) const;
  // Values by key, copied; empty or 0 where absent.
  std::vector<int64_t> Ints(hlo::InstructionId id, hlo::AttributeKey key);
  int64_t Int(hlo::InstructionId id, hlo::AttributeKey key);

  // True for what a control dependency holds in its place: it is not replaced.
  bool IsPinned(hlo::InstructionId id) const {
    return id.index < pinned_.size() && pinned_[id.index];
  }

  // Calls fn(id) for each instruction of the original that runs and is not pinned, in order.
  template <typename Function>
  void ForEachRunning(const Function& fn) const {
    const std::vector<bool> runs = RunComputations(*original_);
    for (uint32_t k = 0; k < original_->instructions().size(); ++k) {
      const hlo::InstructionId id(k);
      if (runs[(*original_)[id].computation.index] && !IsPinned(id)) fn(id);
    }
  }

  // False where a control dependency or a bitcast, which means its operand's layout, would notice.
  bool MayReplace(hlo::InstructionId from, hlo::InstructionId to) const;

  // A new instruction beside `like`, with its metadata; the name is made unique.
  hlo::InstructionId Add(hlo::InstructionId like, std::string_view name, hlo::Opcode opcode,
                         hlo::Shape shape, std::span<const hlo::InstructionId> operands,
                         std::vector<hlo::Attribute> attributes = {});
  hlo::InstructionId Add(hlo::InstructionId like, std::string_view name, hlo::Opcode opcode,
                         hlo::Shape shape, std::initializer_list<hlo::InstructionId> operands,
                         std::vector<hlo::Attribute> attributes = {}) {
    return Add(like, name, opcode, std::move(shape), std::span(operands), std::move(attributes));
  }
  // A constant of one number; `bytes` are its element.
  hlo::InstructionId AddScalar(hlo::InstructionId like, hlo::ElementType type,
                               std::vector<std::byte> bytes);
  // A computation that applies `opcode` to two scalars, for the instruction `user` to call.
  hlo::ComputationId AddReducer(hlo::InstructionId user, std::string_view name, hlo::Opcode opcode,
                                hlo::ElementType type);
  // `name`, or with a number behind it where an instruction has that name.
  std::string UniqueName(std::string_view name);
  // How many instructions have had that name.
  uint32_t NameCount(std::string_view name);

  // Uses of `from` become uses of `to`, which has its value.
  void Replace(hlo::InstructionId from, hlo::InstructionId to);
  // Says that an instruction comes from one of the original or from one that was added, which may
  // be said of several. What Add makes comes from `like`, what Replace puts in place from what it
  // replaces; for all that is added to the rewriter itself it has to be said.
  void NoteOrigin(hlo::InstructionId after, hlo::InstructionId before, hlo::OriginKind kind);
  // Says that `to` has the value of `from` too, which is going to be dropped.
  void NoteSameValue(hlo::InstructionId from, hlo::InstructionId to) { forward_[from] = to; }
  bool changed() const { return changed_; }
  void NoteChange() { changed_ = true; }

  // Drops what is dead and hands over the new module; no module where nothing was changed.
  Result<PassResult> Finish();

 private:
  void CountNames();
  // Takes the name where it is free.
  bool TakeName(std::string_view name);
  hlo::InstructionId Resolve(hlo::InstructionId id);
  std::vector<hlo::Origin> Origins(const hlo::RewriteResult& rewritten);

  std::shared_ptr<const hlo::Module> original_;
  hlo::Rewriter rewriter_;
  std::vector<bool> pinned_;
  std::unordered_map<hlo::InstructionId, hlo::InstructionId> forward_;
  std::vector<hlo::Origin> origins_;  // `before` is of the original, `after` of the rewriter
  // By added instruction: its first place in origins_, kNoOrigin where nothing was noted.
  std::vector<uint32_t> first_origin_;
  std::vector<uint32_t> names_;  // by text: instructions of that name; filled when first asked for
  std::unordered_map<hlo::StringId, uint32_t> next_number_;
  bool changed_ = false;
};

// A pass over one opcode: fn(edit, id) for each instruction of it that runs and is not pinned, in
// order.
template <typename Function>
Result<PassResult> EditEach(const std::shared_ptr<const hlo::Module>& module, hlo::Opcode opcode,
                            const Function& fn) {
  if (!HasOpcode(*module, opcode)) return PassResult{};
  Edit edit(module);
  edit.ForEachRunning([&](hlo::InstructionId id) {
    if ((*module)[id].opcode == opcode) fn(edit, id);
  });
  return edit.Finish();
}

}  // namespace hloscope::compile
