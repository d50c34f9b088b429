// Kernels of a GPU whose results are arrays of the same dimensions. A thread makes an element, or a
// few that lie side by side, which are read and written at once. Where parameters are read across
// the results, a block makes a square of them: it reads the elements of those parameters as they
// lie into memory that its threads share, in rows of an odd length, so that neither way two
// threads of a warp want the same bank. Results of other dimensions have threads of their own, from
// a whole block on.
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/loop_space.h"
#include "core/compile/gpu_code.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kSquare = 32, kSquareRows = 8;  // elements along a side; rows of threads
constexpr int64_t kMinAlong = 16;                 // elements of a dimension that squares are worth
constexpr int64_t kManyElements = 1 << 15;        // that threads may have several of
constexpr int64_t kMaxAtOnce = 4, kBytesAtOnce = 16;
constexpr size_t kMaxInstructions = 100;  // that may stand in the code several times

// What a number is where some values are given; nullopt where more is needed.
class NumberAt {
 public:
  explicit NumberAt(std::map<const Value*, int64_t> given) : known_(std::move(given)) {}

  std::optional<int64_t> Of(const Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
      return constant->getSExtValue();
    }
    if (const auto it = known_.find(value); it != known_.end()) return it->second;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr) return {};
    const auto result = Computed(*instruction);
    if (result.has_value()) known_.emplace(value, *result);
    return result;
  }

 private:
  std::optional<int64_t> Computed(const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    const bool is_smaller = call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::smin;
    if (!is_smaller && !llvm::isa<llvm::BinaryOperator>(i)) return {};
    const auto x = Of(i.getOperand(0)), y = Of(i.getOperand(1));
    if (!x.has_value() || !y.has_value()) return {};
    if (is_smaller) return std::min(*x, *y);
    switch (i.getOpcode()) {
      case llvm::Instruction::Add:
        return *x + *y;
      case llvm::Instruction::Sub:
        return *x - *y;
      case llvm::Instruction::Mul:
        return *x * *y;
      case llvm::Instruction::UDiv:
        return *x < 0 || *y <= 0 ? std::nullopt : std::optional(*x / *y);
      case llvm::Instruction::URem:
        return *x < 0 || *y <= 0 ? std::nullopt : std::optional(*x % *y);
      default:
        return {};
    }
  }

  std::map<const Value*, int64_t> known_;
};

class GpuLoopKernel {
 public:
  GpuLoopKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : module_(module), kernel_(kernel), name_(name) {
    for (size_t i = 0; i < kernel.roots.size(); ++i) {
      const auto sizes = SizesOf(i);
      const auto same = std::ranges::find_if(
          loops_, [&](const auto& loop) { return std::ranges::equal(SizesOf(loop[0]), sizes); });
      if (same == loops_.end()) {
        loops_.push_back({i});
      } else {
        same->push_back(i);
      }
    }
    Choose(loops_[0]);
  }

  EmittedKernel Emit() {
    if (loops_.size() == 1 && FindSquares()) {
      EmittedKernel out = Squares();
      if (out.is_complete) return out;
      module_.getFunction(name_)->eraseFromParent();
    }
    return Elements();
  }

 private:
  Value* Int(int64_t value) { return function_->Int(value); }
  ElementType TypeOf(InstructionId id) const { return kernel_.module.shape(id).element_type(); }

  std::span<const int64_t> SizesOf(size_t result) const {
    return kernel_.module.shape(kernel_.roots[result]).dimensions();
  }

  // From here on the loop is that of these results, which have the same dimensions.
  void Choose(const std::vector<size_t>& results) {
    results_ = results;
    roots_.clear();
    for (const size_t result : results) roots_.push_back(kernel_.roots[result]);
    sizes_ = SizesOf(results[0]);
    total_ = ProductOf(sizes_);
    groups_ = Grouped(sizes_, Borders(kernel_, roots_, sizes_));
    if (groups_.empty()) groups_.push_back({0, 1});
  }

  Index IndexOf(const std::vector<LaneNumber>& numbers) const {
    Index index;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].count > 0) index.groups.push_back({groups_[g].count, numbers[g]});
    }
    return index;
  }

  // ---- Elements side by side.

  int64_t AtOnce() const {
    if (total_ < kManyElements || kernel_.instructions.size() > kMaxInstructions) return 1;
    int64_t bytes = 1;
    for (const InstructionId root : roots_) {
      bytes = std::max<int64_t>(bytes, hlo::StorageBytes(TypeOf(root)));
    }
    const int64_t count = std::min(kMaxAtOnce, kBytesAtOnce / bytes);
    return groups_.back().size % count == 0 ? count : 1;
  }

  EmittedKernel Elements() {
    constexpr int64_t kWhole = compile::kMaxGpuThreads;
    struct Part {
      std::vector<size_t> results;
      int64_t first, units;
    };
    std::vector<Part> parts;
    int64_t units = 0;
    for (const std::vector<size_t>& results : loops_) {
      Choose(results);
      units = (units + kWhole - 1) / kWhole * kWhole;
      parts.push_back({results, units, total_ / AtOnce()});
      units += parts.back().units;
    }
    EmittedKernel out = InGrains(name_, units, 1, 1, kernel_.roots.size());
    function_ = std::make_unique<KernelFunction>(module_, kernel_, name_, -1);
    Builder& b = function_->builder();
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    GpuBlock block(*function_);
    function_->ForUnits(units, 1, [&](Value* unit) {
      for (const Part& part : parts) {
        Choose(part.results);
        if (parts.size() == 1) {
          Element(math, emitter, unit);
          continue;
        }
        Value* own = b.CreateSub(unit, Int(part.first));
        block.When(b.CreateICmpULT(own, Int(part.units)), [&] { Element(math, emitter, own); });
        emitter.Forget();
      }
    });
    function_->Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

  // One element of each result of the loop, or some that lie side by side.
  void Element(IndexMath& math, ElementEmitter& emitter, Value* unit) {
    Builder& b = function_->builder();
    const int64_t at_once = AtOnce();
    std::vector<LaneNumber> numbers(groups_.size());
    Value* rest = unit;
    for (size_t g = groups_.size(); g-- > 0;) {
      const int64_t size = groups_[g].size / (g + 1 == groups_.size() ? at_once : 1);
      numbers[g] = g == 0 ? math.FromScalar(rest) : math.TakeLast(rest, size);
    }
    Value* first = b.CreateMul(numbers.back().base, Int(at_once));
    Value* place = b.CreateMul(unit, Int(at_once));
    std::vector<Value*> values;
    for (int64_t k = 0; k < at_once; ++k) {
      numbers.back() = math.FromScalar(b.CreateAdd(first, Int(k)));
      for (const InstructionId root : roots_)
        values.push_back(emitter.Emit(root, IndexOf(numbers)));
    }
    for (size_t i = 0; i < roots_.size(); ++i) {
      for (int64_t k = 0; k < at_once; ++k) {
        function_->Store(values[static_cast<size_t>(k) * roots_.size() + i], TypeOf(roots_[i]),
                         function_->result(results_[i]), b.CreateAdd(place, Int(k)), 1);
      }
    }
  }

  // ---- Squares.

  bool FindSquares() {
    const Transposition across = FindTransposition(kernel_, kernel_.roots, sizes_);
    if (across.dimension < 0) return false;
    size_t end = groups_[0].count;
    while (end <= static_cast<size_t>(across.dimension)) end += groups_[++across_].count;
    return across_ + 1 < groups_.size() && groups_[across_].size >= kMinAlong &&
           groups_.back().size >= kMinAlong && kernel_.instructions.size() <= kMaxInstructions;
  }

  EmittedKernel Squares() {
    const int64_t columns = groups_.back().size, rows = groups_[across_].size;
    const int64_t along = (columns - 1) / kSquare + 1, down = (rows - 1) / kSquare + 1;
    const int64_t blocks = total_ / (columns * rows) * along * down;
    EmittedKernel out = InGrains(name_, blocks, 1, 1, kernel_.roots.size());
    out.block = kSquare * kSquareRows;
    function_ = std::make_unique<KernelFunction>(module_, kernel_, name_, -1, out.block);
    Builder& b = function_->builder();
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    GpuBlock block(*function_);
    Value* rest = function_->begin();
    Value* column = b.CreateMul(math.TakeLast(rest, along).base, Int(kSquare));
    Value* row = b.CreateMul(math.TakeLast(rest, down).base, Int(kSquare));
    std::vector<LaneNumber> numbers(groups_.size());
    for (size_t g = groups_.size() - 1; g-- > 0;) {
      if (g != across_) numbers[g] = math.TakeLast(rest, groups_[g].size);
    }
    Value* fast = b.CreateURem(function_->thread(), Int(kSquare));
    Value* slow = b.CreateUDiv(function_->thread(), Int(kSquare));

    // Both ways through the square the same elements of parameters are asked for in the same order.
    std::vector<Value*> rooms;
    std::vector<llvm::Type*> types;
    bool is_reading = true;
    size_t next = 0;
    int64_t bytes = 0;
    Value *row_number = nullptr, *column_number = nullptr, *place = nullptr;
    const auto is_across = [&](Value* at) {
      const auto number = [&](int64_t r, int64_t c) {
        std::map<const Value*, int64_t> given = {{row_number, r}, {column_number, c}};
        for (const LaneNumber& each : numbers) {
          if (each.base != nullptr) given.try_emplace(each.base, 0);
        }
        return NumberAt(std::move(given)).Of(at);
      };
      const auto first = number(0, 0), below = number(1, 0), beside = number(0, 1);
      if (!first.has_value() || !below.has_value() || !beside.has_value()) return false;
      return std::abs(*below - *first) == 1 && std::abs(*beside - *first) > 1;
    };
    emitter.set_load_hook(
        [&](InstructionId id, Value* at, const std::function<Value*()>& load) -> Value* {
          if (!is_across(at)) return load();
          const size_t number = next++;
          if (is_reading) {
            Value* value = load();
            if (number == rooms.size()) {
              types.push_back(value->getType());
              rooms.push_back(block.Shared(value->getType(), kSquare * (kSquare + 1)));
              bytes += hlo::StorageBytes(TypeOf(id)) * kSquare * (kSquare + 1);
            }
            block.Save(value, rooms[number], place);
            return value;
          }
          if (number >= rooms.size()) return load();
          return block.Load(types[number], rooms[number], place);
        });
    const auto set = [&](Value* row_at, Value* column_at) {
      // Beyond the end the last one is taken again.
      row_number = function_->Smaller(row_at, Int(rows - 1));
      column_number = function_->Smaller(column_at, Int(columns - 1));
      numbers[across_] = math.FromScalar(row_number);
      numbers.back() = math.FromScalar(column_number);
      emitter.Forget();
      next = 0;
    };
    const auto place_of = [&](Value* column_in, Value* row_in) {
      return b.CreateAdd(b.CreateMul(column_in, Int(kSquare + 1)), row_in);
    };
    for (int64_t i = 0; i < kSquare; i += kSquareRows) {
      Value* down_here = b.CreateAdd(slow, Int(i));
      place = place_of(down_here, fast);
      set(b.CreateAdd(row, fast), b.CreateAdd(column, down_here));
      for (const InstructionId root : kernel_.roots) emitter.Emit(root, IndexOf(numbers));
    }
    block.Barrier();
    is_reading = false;
    bool is_same = true;
    for (int64_t i = 0; i < kSquare; i += kSquareRows) {
      Value* down_here = b.CreateAdd(slow, Int(i));
      place = place_of(fast, down_here);
      Value* row_at = b.CreateAdd(row, down_here);
      Value* column_at = b.CreateAdd(column, fast);
      set(row_at, column_at);
      std::vector<Value*> values;
      for (const InstructionId root : kernel_.roots) {
        values.push_back(emitter.Emit(root, IndexOf(numbers)));
      }
      is_same &= next == rooms.size();
      Value* is_inside =
          b.CreateAnd(b.CreateICmpSLT(row_at, Int(rows)), b.CreateICmpSLT(column_at, Int(columns)));
      const LaneNumber offset = math.Offset(IndexOf(numbers), sizes_);
      block.When(is_inside, [&] {
        for (size_t k = 0; k < values.size(); ++k) {
          function_->Store(values[k], TypeOf(kernel_.roots[k]), function_->result(k), offset.base,
                           1);
        }
      });
    }
    function_->Finish();
    out.is_complete =
        !emitter.has_failed() && is_same && !rooms.empty() && bytes <= kMaxSharedBytes;
    return out;
  }

  llvm::Module& module_;
  const Kernel& kernel_;
  const std::string& name_;
  std::unique_ptr<KernelFunction> function_;
  std::vector<std::vector<size_t>> loops_;  // results of the same dimensions
  // Of one of them.
  std::vector<size_t> results_;
  std::vector<InstructionId> roots_;
  std::span<const int64_t> sizes_;
  std::vector<LoopGroup> groups_;
  int64_t total_ = 1;
  size_t across_ = 0;  // the group along which some parameters lie
};

}  // namespace

EmittedKernel EmitGpuLoop(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuLoopKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
