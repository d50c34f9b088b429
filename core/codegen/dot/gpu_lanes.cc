#include "core/codegen/dot/gpu_lanes.h"

#include <algorithm>
#include <bit>

#include "core/codegen/emit/emit_kernel.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kLaneThreads = 128;  // of a block, where lanes are fewer
constexpr int64_t kMaxLanes = 256;
constexpr int64_t kAtOnce = 4;  // products of a lane that are read before they are added up

int64_t LanesOf(int64_t results, int64_t depth) {
  const auto wanted =
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, kEnoughThreads / results)));
  return std::clamp<int64_t>(static_cast<int64_t>(wanted), 1,
                             std::min(kMaxLanes, PowerOfTwoFrom((depth - 1) / kAtOnce + 1)));
}

}  // namespace

GpuLanes::GpuLanes(llvm::Module& module, const Kernel& kernel, InstructionId contraction,
                   const std::string& name, int64_t results, int64_t depth)
    : kernel_(kernel),
      contraction_(contraction),
      products_(kernel.module, contraction),
      results_(results),
      depth_(depth),
      lanes_(LanesOf(results, depth)),
      teams_(std::max<int64_t>(1, kLaneThreads / lanes_)),
      function_(module, kernel, name, -1, lanes_ * teams_),
      block_(function_),
      b_(function_.builder()),
      math_(b_, 1, 64),
      emitter_(kernel.module, math_, function_.Arrays()) {}

linking::EmittedKernel GpuLanes::Emit(const std::string& name, const TiledProducts& what) {
  linking::EmittedKernel out =
      InGrains(name, (results_ - 1) / teams_ + 1, 1, 1, kernel_.roots.size());
  out.block = lanes_ * teams_;
  Value* team = b_.CreateUDiv(function_.thread(), Int(lanes_));
  Value* lane = b_.CreateURem(function_.thread(), Int(lanes_));
  Value* result = b_.CreateAdd(b_.CreateMul(function_.begin(), Int(teams_)), team);
  // Teams beyond the last result make it once more.
  Value* rest = function_.Smaller(result, Int(results_ - 1));
  Value* column = math_.TakeLast(rest, what.columns).base;
  Value* row = math_.TakeLast(rest, what.rows).base;
  Value* turn = rest;
  const Products::Number sum =
      block_.Combined(Sum(what, turn, row, column, lane), lanes_, team, teams_,
                      [&](const GpuBlock::Values& left, const GpuBlock::Values& right) {
                        return products_.Add(b_, left, right);
                      });
  Value* is_first =
      b_.CreateAnd(b_.CreateICmpEQ(lane, Int(0)), b_.CreateICmpSLT(result, Int(results_)));
  block_.When(is_first, [&] {
    const DotResults::Place place = {what.result(turn, row, column), row, column};
    if (what.write != nullptr) return what.write(sum, place);
    function_.Store(products_.Result(b_, sum), kernel_.module.shape(contraction_).element_type(),
                    function_.result(0), place.number, 1);
  });
  function_.Finish();
  out.is_complete = !emitter_.has_failed();
  return out;
}

Products::Number GpuLanes::Sum(const TiledProducts& what, Value* turn, Value* row, Value* column,
                               Value* lane) {
  const int64_t at_once = std::clamp<int64_t>((depth_ - 1) / lanes_ + 1, 1, kAtOnce);
  const bool is_even = depth_ % (lanes_ * at_once) == 0;
  const auto operands = kernel_.module.operands(contraction_);
  const auto read = [&](InstructionId operand, Value* at) {
    Index index;
    const size_t rank = kernel_.module.shape(operand).rank();
    if (rank > 0) index.groups.push_back({rank, math_.FromScalar(at)});
    return emitter_.Emit(operand, std::move(index));
  };
  struct Factors {
    Products::Number x, y;
    Value* are_there = nullptr;  // null: they are
  };
  return function_.Loop(
      lane, Int(depth_), lanes_ * at_once, products_.Zero(b_, 1),
      [&](Value* first, std::vector<Value*> sum) {
        emitter_.Forget();
        std::vector<Factors> factors;
        for (int64_t i = 0; i < at_once; ++i) {
          Factors& each = factors.emplace_back();
          const auto also = [&](Value* condition) {
            each.are_there =
                each.are_there == nullptr ? condition : b_.CreateAnd(each.are_there, condition);
          };
          Value* k = b_.CreateAdd(first, Int(i * lanes_));
          if (!is_even && i > 0) {
            also(b_.CreateICmpSLT(k, Int(depth_)));
            k = function_.Smaller(k, Int(depth_ - 1));
          }
          const TiledProducts::Place left = what.left.place(turn, row, k),
                                     right = what.right.place(turn, column, k);
          for (Value* condition : {left.is_there, right.is_there}) {
            if (condition != nullptr) also(condition);
          }
          each.x = products_.Left(b_, read(operands[0], left.at));
          each.y = products_.Right(b_, read(operands[1], right.at));
        }
        for (const Factors& each : factors) {
          const Products::Number next = products_.Add(b_, sum, each.x, each.y);
          for (size_t part = 0; part < sum.size(); ++part) {
            sum[part] = each.are_there == nullptr
                            ? next[part]
                            : b_.CreateSelect(each.are_there, next[part], sum[part]);
          }
        }
        return sum;
      });
}

}  // namespace hloscope::codegen
