// Reductions on a GPU by associative reducers: a block makes some results, several threads each,
// whose numbers are combined in a tree that depends on the sizes alone; where order matters a
// thread takes neighbours, and the tree keeps the order. Neighbouring threads read
// neighbouring elements: of a result where its elements lie side by side (rows: shuffles, then
// shared memory), of neighbouring results where those do (columns: shared memory). Where the
// results alone are too few blocks, parts of them have blocks of their own, and a second launch
// combines these.
#include <algorithm>
#include <bit>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/reducers.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using llvm::Value;

constexpr int64_t kRowThreads = 128, kColumnThreads = 256;  // of a block, about
constexpr int64_t kMaxLanes = 256;                          // of a result
constexpr int64_t kUnroll = 4;  // elements that a thread takes in one turn
constexpr int64_t kEnoughBlocks = 512;
constexpr int64_t kMinOfPart = 16;  // elements of a thread in a part

struct GpuGroup : LoopGroup {
  bool is_reduced = false;
};

class GpuReduceKernel {
 public:
  GpuReduceKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : module_(module),
        kernel_(kernel),
        name_(name),
        reducers_(kernel),
        in_order_(!reducers_.AreAssociative()) {
    MakeGroups();
    ChooseThreads();
  }

  EmittedKernel Emit() {
    const int64_t threads = results_of_block_ * lanes_;
    function_ = std::make_unique<KernelFunction>(module_, kernel_, name_, -1, threads);
    GpuBlock block(*function_);
    block_ = &block;
    Builder& b = function_->builder();
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    math_ = &math;
    emitter_ = &emitter;
    EmittedKernel out;
    out.code.name = name_;
    out.code.grains = blocks_ * parts_;
    out.code.grain_bytes = 1;
    out.code.in_place.assign(reducers_.count(), -1);
    out.block = threads;
    Value* number = b.CreateURem(function_->begin(), Int(blocks_));
    Place(number);
    if (parts_ == 1) {
      Elements(Int(0), Int(reduced_));
    } else {
      out.code.scratch_bytes = PartialsOf(reducers_.count());
      out.passes = {0, 1};
      block.When(b.CreateICmpEQ(function_->pass(), Int(0)), [&] {
        part_ = b.CreateUDiv(function_->begin(), Int(blocks_));
        Value* from = b.CreateMul(part_, Int(part_size_));
        Elements(from, function_->Smaller(b.CreateAdd(from, Int(part_size_)), Int(reduced_)));
      });
      Value* is_first = b.CreateICmpSLT(function_->begin(), Int(blocks_));
      block.When(b.CreateAnd(is_first, b.CreateICmpEQ(function_->pass(), Int(1))),
                 [&] { PartsTogether(); });
    }
    function_->Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_->Int(value); }

  void MakeGroups() {
    const auto sizes = reducers_.sizes();
    const auto dimensions = reducers_.dimensions();
    auto borders = Borders(kernel_, reducers_.inputs(), sizes);
    std::vector<size_t> longer;  // dimensions of more than one element
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      if (!longer.empty() && Contains(dimensions, longer.back()) != Contains(dimensions, d)) {
        borders[d] = true;
      }
      longer.push_back(d);
    }
    size_t d = 0;
    for (const LoopGroup& group : Grouped(sizes, borders)) {
      groups_.push_back({group, false});
      for (const size_t end = d + group.count; d < end; ++d) {
        if (sizes[d] != 1) groups_.back().is_reduced = Contains(dimensions, d);
      }
      (groups_.back().is_reduced ? reduced_ : kept_) *= group.size;
    }
    fast_ = FastGroup();
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (g != fast_) (groups_[g].is_reduced ? reduced_order_ : kept_order_).push_back(g);
    }
    if (fast_ < groups_.size()) {
      (groups_[fast_].is_reduced ? reduced_order_ : kept_order_).push_back(fast_);
    }
  }

  // The group that neighbouring threads run along: the one along which all large parameters are
  // read element after element, or the last one.
  size_t FastGroup() const {
    size_t last = groups_.size();
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].size > 1) last = g;
    }
    const Transposition across = FindTransposition(kernel_, reducers_.inputs(), reducers_.sizes());
    if (across.dimension < 0 || !across.is_only) return last;
    size_t g = 0, end = groups_[0].count;
    while (end <= static_cast<size_t>(across.dimension)) end += groups_[++g].count;
    return groups_[g].size >= kFewLanes ? g : last;
  }
  bool IsRow() const { return fast_ < groups_.size() && groups_[fast_].is_reduced; }

  void ChooseThreads() {
    const int64_t wanted = PowerOfTwoFrom((reduced_ - 1) / kEnoughOfThread + 1);
    if (IsRow()) {
      lanes_ = std::min(kMaxLanes, std::max(wanted, std::min(kWarp, PowerOfTwoFrom(reduced_))));
      results_of_block_ =
          std::min(PowerOfTwoFrom(kept_), std::max<int64_t>(1, kRowThreads / lanes_));
      results_of_block_ = std::max(results_of_block_, kWarp / lanes_);
      if (!in_order_ && groups_[fast_].size % kUnroll == 0 && reduced_ >= kUnroll * lanes_) {
        vector_ = kUnroll;
      }
    } else {
      const int64_t beside = reduced_ >= 2 * kEnoughOfThread ? kWarp : kRowThreads;
      results_of_block_ = std::min(beside, PowerOfTwoFrom(kept_));
      lanes_ = std::clamp(wanted, std::max<int64_t>(1, kWarp / results_of_block_),
                          kColumnThreads / results_of_block_);
    }
    blocks_ = (kept_ - 1) / results_of_block_ + 1;
    const int64_t parts = std::min(kEnoughBlocks / blocks_, reduced_ / (lanes_ * kMinOfPart));
    part_size_ = reduced_;
    if (parts < 2) return;
    part_size_ = (reduced_ - 1) / parts + 1;
    part_size_ = (part_size_ + lanes_ * kUnroll - 1) / (lanes_ * kUnroll) * (lanes_ * kUnroll);
    parts_ = (reduced_ - 1) / part_size_ + 1;
  }

  // Partial results: array by array, part by part.
  int64_t PartialsOf(size_t i) const { return reducers_.PartialsOf(i, parts_ * kept_); }
  Value* Partials(size_t i) {
    return function_->builder().CreateConstGEP1_64(function_->builder().getInt8Ty(),
                                                   function_->scratch(), PartialsOf(i));
  }

  // Which result and which lane of it a thread has.
  void Place(Value* block) {
    Builder& b = function_->builder();
    Value* thread = function_->thread();
    const int64_t inner = IsRow() ? lanes_ : results_of_block_;
    Value* outer = b.CreateUDiv(thread, Int(inner));
    own_ = IsRow() ? outer : b.CreateURem(thread, Int(inner));
    lane_ = IsRow() ? b.CreateURem(thread, Int(inner)) : outer;
    Value* result = b.CreateAdd(b.CreateMul(block, Int(results_of_block_)), own_);
    is_there_ = b.CreateICmpSLT(result, Int(kept_));
    Value* rest = function_->Smaller(result, Int(kept_ - 1));
    numbers_.assign(groups_.size(), math_->Constant(0));
    for (size_t i = kept_order_.size(); i-- > 0;) {
      const size_t g = kept_order_[i];
      numbers_[g] = i == 0 ? math_->FromScalar(rest) : math_->TakeLast(rest, groups_[g].size);
    }
    result_ = Int(0);
    int64_t stride = 1;
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_[g].is_reduced) continue;
      result_ = b.CreateAdd(result_, b.CreateMul(numbers_[g].base, Int(stride)));
      stride *= groups_[g].size;
    }
  }

  // ---- Sums of a thread, then of all lanes.

  Accumulators Combine(const Accumulators& left, const Accumulators& right) {
    return reducers_.Combine(function_->builder(), left, right);
  }

  // Of what `at` gives of [from, to), in turns of kUnroll elements: side by side in memory, or one
  // of each turn of all lanes.
  Accumulators Sum(Value* from, Value* to, int64_t vector,
                   const std::function<Accumulators(Value* unit, int64_t element)>& at) {
    Builder& b = function_->builder();
    const size_t count = reducers_.count();
    if (in_order_) return SumInOrder(from, to, at);
    const Accumulators start = reducers_.Start(*emitter_, b, 1);
    Accumulators sums;
    for (int64_t k = 0; k < kUnroll; ++k) sums.insert(sums.end(), start.begin(), start.end());
    const auto turn = [&](Accumulators values, int64_t elements,
                          const std::function<Accumulators(int64_t)>& element) {
      for (int64_t k = 0; k < elements; ++k) {
        const auto first = values.begin() + k * static_cast<int64_t>(count);
        const Accumulators next =
            Combine(Accumulators(first, first + static_cast<ptrdiff_t>(count)), element(k));
        std::ranges::copy(next, first);
      }
      return values;
    };
    // Where a thread has no result it has no elements.
    Value* end = b.CreateSelect(is_there_, to, from);
    if (vector > 1) {
      Value* first = b.CreateAdd(b.CreateUDiv(from, Int(vector)), lane_);
      sums = function_->Loop(first, b.CreateUDiv(end, Int(vector)), lanes_, sums,
                             [&](Value* unit, const Accumulators& values) {
                               return turn(values, kUnroll, [&](int64_t k) { return at(unit, k); });
                             });
    } else {
      Value* first = b.CreateAdd(from, lane_);
      Value* whole = b.CreateSub(end, Int((kUnroll - 1) * lanes_));
      sums = function_->Loop(
          first, whole, kUnroll * lanes_, sums, [&](Value* unit, const Accumulators& values) {
            return turn(values, kUnroll, [&](int64_t k) {
              return at(function_->builder().CreateAdd(unit, Int(k * lanes_)), 0);
            });
          });
      Value* rounds = b.CreateUDiv(
          Call(b, llvm::Intrinsic::smax,
               {b.CreateAdd(b.CreateSub(whole, first), Int(kUnroll * lanes_ - 1)), Int(0)}),
          Int(kUnroll * lanes_));
      Value* rest = b.CreateAdd(first, b.CreateMul(rounds, Int(kUnroll * lanes_)));
      sums = function_->Loop(rest, end, lanes_, sums, [&](Value* unit, const Accumulators& values) {
        return turn(values, 1, [&](int64_t) { return at(unit, 0); });
      });
    }
    const auto part = [&](int64_t k) {
      const auto first = sums.begin() + k * static_cast<int64_t>(count);
      return Accumulators(first, first + static_cast<ptrdiff_t>(count));
    };
    return AllLanes(Combine(Combine(part(0), part(1)), Combine(part(2), part(3))));
  }

  // A lane has neighbours; where there are too few for all, the last one once more.
  Accumulators SumInOrder(Value* from, Value* to,
                          const std::function<Accumulators(Value* unit, int64_t element)>& at) {
    Builder& b = function_->builder();
    Value* each = b.CreateUDiv(b.CreateAdd(b.CreateSub(to, from), Int(lanes_ - 1)), Int(lanes_));
    Value* first =
        function_->Smaller(b.CreateAdd(from, b.CreateMul(lane_, each)), b.CreateSub(to, Int(1)));
    Value* last = function_->Smaller(b.CreateAdd(first, each), to);
    const Accumulators start = at(first, 0);
    return AllLanes(function_->Loop(
        b.CreateAdd(first, Int(1)), last, 1, start,
        [&](Value* unit, const Accumulators& values) { return Combine(values, at(unit, 0)); }));
  }

  // The result is there in lane 0 at least.
  Accumulators AllLanes(Accumulators values) {
    const auto combine = [&](const Accumulators& x, const Accumulators& y) {
      return Combine(x, y);
    };
    if (IsRow()) {
      return block_->Combined(values, lanes_, own_, results_of_block_, combine, in_order_);
    }
    Builder& b = function_->builder();
    if (lanes_ == 1) return values;
    std::vector<Value*> rooms;
    for (Value* value : values) {
      rooms.push_back(
          block_->Shared(value->getType(), lanes_ / (in_order_ ? 1 : 2) * results_of_block_));
    }
    const auto place = [&](Value* lane) {
      return b.CreateAdd(b.CreateMul(lane, Int(results_of_block_)), own_);
    };
    if (in_order_) return NeighboursFirst(std::move(values), rooms, place);
    // The upper half of the lanes hands over what it has.
    for (int64_t half = lanes_ / 2; half > 0; half /= 2) {
      Value* is_upper =
          b.CreateAnd(b.CreateICmpSGE(lane_, Int(half)), b.CreateICmpSLT(lane_, Int(2 * half)));
      block_->When(is_upper, [&] {
        for (size_t i = 0; i < values.size(); ++i) {
          block_->Save(values[i], rooms[i], place(b.CreateSub(lane_, Int(half))));
        }
      });
      block_->Barrier();
      Value* is_lower = b.CreateICmpSLT(lane_, Int(half));
      Value* from = place(b.CreateSelect(is_lower, lane_, Int(0)));
      Accumulators others;
      for (size_t i = 0; i < values.size(); ++i) {
        others.push_back(block_->Load(values[i]->getType(), rooms[i], from));
      }
      values = Combine(values, others);
      if (half > 1) block_->Barrier();
    }
    return values;
  }

  // Of lanes 0, 2, 4 … each takes what the next one has, then of 0, 4, 8 … and so on.
  Accumulators NeighboursFirst(Accumulators values, const std::vector<Value*>& rooms,
                               const std::function<Value*(Value*)>& place) {
    Builder& b = function_->builder();
    for (int64_t distance = 1; distance < lanes_; distance *= 2) {
      for (size_t i = 0; i < values.size(); ++i) block_->Save(values[i], rooms[i], place(lane_));
      block_->Barrier();
      Value* other = function_->Smaller(b.CreateAdd(lane_, Int(distance)), Int(lanes_ - 1));
      Accumulators others;
      for (size_t i = 0; i < values.size(); ++i) {
        others.push_back(block_->Load(values[i]->getType(), rooms[i], place(other)));
      }
      values = Combine(values, others);
      block_->Barrier();
    }
    return values;
  }

  void Elements(Value* from, Value* to) {
    const Accumulators sum = Sum(from, to, vector_, [&](Value* unit, int64_t element) {
      Value* rest = unit;
      for (size_t i = reduced_order_.size(); i-- > 0;) {
        const size_t g = reduced_order_[i];
        const bool is_vector = vector_ > 1 && g == fast_;
        const int64_t size = groups_[g].size / (is_vector ? vector_ : 1);
        numbers_[g] = i == 0 ? math_->FromScalar(rest) : math_->TakeLast(rest, size);
        if (!is_vector) continue;
        numbers_[g] = math_->AddConstant(math_->Multiply(numbers_[g], vector_), element);
      }
      Index index;
      for (size_t g = 0; g < groups_.size(); ++g) {
        index.groups.push_back({groups_[g].count, numbers_[g]});
      }
      return reducers_.Elements(*emitter_, function_->builder(), index, 1);
    });
    Write(sum, parts_ > 1);
  }

  void PartsTogether() {
    Builder& b = function_->builder();
    const Accumulators sum = Sum(Int(0), Int(parts_), 1, [&](Value* part, int64_t) {
      Accumulators values;
      Value* at = b.CreateAdd(result_, b.CreateMul(part, Int(kept_)));
      for (size_t i = 0; i < reducers_.count(); ++i) {
        values.push_back(function_->Load(reducers_.AccumulatorType(i), Partials(i), at, 1));
      }
      return values;
    });
    Write(sum, false);
  }

  void Write(const Accumulators& sum, bool is_part) {
    Builder& b = function_->builder();
    const Accumulators values = is_part     ? sum
                                : in_order_ ? Combine(reducers_.Start(*emitter_, b, 1), sum)
                                            : reducers_.Results(*emitter_, b, sum);
    Value* at = is_part ? b.CreateAdd(result_, b.CreateMul(part_, Int(kept_))) : result_;
    block_->When(b.CreateAnd(is_there_, b.CreateICmpEQ(lane_, Int(0))), [&] {
      for (size_t i = 0; i < values.size(); ++i) {
        function_->Store(values[i],
                         is_part ? reducers_.AccumulatorType(i) : reducers_.ResultType(i),
                         is_part ? Partials(i) : function_->result(i), at, 1);
      }
    });
  }

  llvm::Module& module_;
  const Kernel& kernel_;
  std::string name_;
  Reducers reducers_;
  bool in_order_;
  std::unique_ptr<KernelFunction> function_;
  GpuBlock* block_ = nullptr;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;

  std::vector<GpuGroup> groups_;
  int64_t kept_ = 1, reduced_ = 1;  // elements of the result, and combined into each
  size_t fast_ = 0;
  std::vector<size_t> kept_order_, reduced_order_;  // of groups, the fast one last
  int64_t lanes_ = 1, results_of_block_ = 1;        // threads of a result; powers of two
  int64_t vector_ = 1;                              // elements side by side that a thread takes
  int64_t blocks_ = 1, parts_ = 1, part_size_ = 1;
  Value *own_ = nullptr, *lane_ = nullptr;  // number of the thread's result in the block, its lane
  Value *result_ = nullptr, *is_there_ = nullptr, *part_ = nullptr;
  std::vector<LaneNumber> numbers_;  // by group, where we are
};

}  // namespace

EmittedKernel EmitGpuReduce(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const Reducers reducers(kernel);
  if (!reducers.AreAssociative() && !reducers.AreOrderedChoices()) {
    return EmitReduce(module, kernel, name);
  }
  return GpuReduceKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
