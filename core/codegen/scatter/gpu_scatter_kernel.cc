// Scatters on a GPU: what all ways have in common, and the one where the order of updates makes no
// difference: of integers, where a thread has an element of an update and combines it at once.
// Everywhere else updates of one element come in the order of the indices, as on the CPU.
#include "core/codegen/scatter/gpu_scatter_kernel.h"

#include <algorithm>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/loop_space.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int64_t kRegistersOfScatter = 64;  // of a thread: two blocks at once at least

}  // namespace

GpuScatterKernel::GpuScatterKernel(llvm::Module& module, const Kernel& kernel,
                                   const std::string& name)
    : kernel_(kernel),
      windows_(kernel),
      arity_(windows_.arity()),
      whole_(windows_.sizes()),
      updates_(windows_.update_sizes()),
      batch_(windows_.BatchDims()),
      of_(kernel, windows_),
      function_(module, kernel, name, windows_.InPlace(kernel, 0), of_.threads),
      block_(function_),
      b_(function_.builder()),
      math_(b_, 1, 64),
      emitter_(kernel.module, math_, function_.Arrays()) {
  function_.AllowRegisters(kRegistersOfScatter);
}

EmittedKernel GpuScatterKernel::Emit(const std::string& name) {
  EmittedKernel out = InGrains(name, of_.blocks(windows_), 1, 1, 0);
  for (size_t i = 0; i < arity_; ++i) {
    out.code.in_place.push_back(windows_.InPlace(kernel_, i));
    if (out.code.in_place.back() < 0) return out;
  }
  out.block = of_.threads;
  out.code.scratch_bytes = of_.scratch_bytes();
  for (int64_t pass = 0; pass < of_.passes(); ++pass) out.passes.push_back(pass);
  switch (of_.way) {
    case ScatterWay::kTiles:
      InTiles();
      break;
    case ScatterWay::kAtOnce:
      AtOnce();
      break;
    case ScatterWay::kLists:
      ByLists();
      break;
    case ScatterWay::kSums:
      BySums();
      break;
  }
  function_.Finish();
  out.is_complete = !emitter_.has_failed() && !has_failed_;
  return out;
}

void GpuScatterKernel::InPass(int64_t pass, const std::function<void()>& body) {
  emitter_.Forget();
  block_.When(b_.CreateICmpEQ(function_.pass(), Int(pass)), body);
  emitter_.Forget();
}

void GpuScatterKernel::ForAll(int64_t count, const std::function<void(Value*)>& body) {
  Value* own = b_.CreateAdd(b_.CreateMul(function_.begin(), Int(of_.threads)), function_.thread());
  function_.Loop(own, Int(count), of_.blocks(windows_) * of_.threads, body);
}

void GpuScatterKernel::AtOnce() {
  windows_.BeginAll();
  Value* own = b_.CreateAdd(b_.CreateMul(function_.begin(), Int(of_.threads)), function_.thread());
  const int64_t units = of_.units();
  Value* unit = function_.Smaller(own, Int(units - 1));
  const auto [at, fits] = PlaceOfUnit(unit);
  Value* is_one = Both(math_, b_.CreateICmpSLT(own, Int(units)), fits);
  block_.When(is_one, [&, at = at] {
    const std::vector<Value*> updates = UpdatesOfUnit(unit);
    for (size_t i = 0; i < arity_; ++i) {
      llvm::Type* type = MemoryType(b_, TypeOf(i));
      b_.CreateAtomicRMW(of_.atomic[i], b_.CreateGEP(type, function_.result(i), at),
                         ToMemory(b_, updates[i], TypeOf(i)), {}, llvm::AtomicOrdering::Monotonic,
                         b_.getContext().getOrInsertSyncScopeID("device"));
    }
  });
}

GpuScatterKernel::Place GpuScatterKernel::PlaceOf(Value* number) {
  emitter_.Forget();
  Index of_batch;
  if (!batch_.empty()) of_batch.groups.push_back({batch_.size(), math_.FromScalar(number)});
  const ScatterWindows::Start start = windows_.StartOf(emitter_, math_, std::move(of_batch));
  Index to;
  for (const LaneNumber& each : start.numbers) to.groups.push_back({1, each});
  return {math_.Offset(to, whole_).base, start.fits};
}

GpuScatterKernel::Place GpuScatterKernel::PlaceOfUnit(Value* unit) {
  const auto [place, fits] = PlaceOf(b_.CreateUDiv(unit, Int(of_.window)));
  return {b_.CreateAdd(place, OffsetOf(b_.CreateURem(unit, Int(of_.window)))), fits};
}

std::vector<Value*> GpuScatterKernel::UpdatesOfUnit(Value* unit) {
  return Updates(b_.CreateUDiv(unit, Int(of_.window)), b_.CreateURem(unit, Int(of_.window)));
}

Value* GpuScatterKernel::OffsetOf(Value* element) {
  std::vector<LaneNumber> numbers(whole_.size(), math_.Constant(0));
  Value* rest = element;
  const std::vector<size_t>& dimensions = windows_.dimensions();
  for (size_t i = dimensions.size(); i-- > 0;) {
    numbers[dimensions[i]] = math_.TakeLast(rest, updates_[windows_.UpdateDim(i)]);
  }
  Index index;
  for (const LaneNumber& each : numbers) index.groups.push_back({1, each});
  return math_.Offset(index, whole_).base;
}

// Those of update `number` for an element of its window.
std::vector<Value*> GpuScatterKernel::Updates(Value* number, Value* element) {
  emitter_.Forget();
  std::vector<LaneNumber> numbers(updates_.size(), math_.Constant(0));
  Value *rest = number, *inner = element;
  for (size_t i = batch_.size(); i-- > 0;) {
    numbers[batch_[i]] = math_.TakeLast(rest, updates_[batch_[i]]);
  }
  for (size_t i = windows_.dimensions().size(); i-- > 0;) {
    const size_t d = windows_.UpdateDim(i);
    numbers[d] = math_.TakeLast(inner, updates_[d]);
  }
  Index from;
  for (const LaneNumber& each : numbers) from.groups.push_back({1, each});
  std::vector<Value*> updates;
  for (size_t i = 0; i < arity_; ++i) updates.push_back(emitter_.Emit(windows_.update(i), from));
  return updates;
}

std::vector<Value*> GpuScatterKernel::Combined(std::vector<Value*> values,
                                               const std::vector<Value*>& updates) {
  values.insert(values.end(), updates.begin(), updates.end());
  const auto applied =
      kernel_.module.GetComputation(kernel_.module[kernel_.roots[0]], AttributeKey::kToApply);
  std::vector<Value*> results = Applied(b_, kernel_.module, applied, values);
  has_failed_ |= results.size() != arity_;
  return has_failed_
             ? std::vector<Value*>(values.begin(), values.begin() + static_cast<ptrdiff_t>(arity_))
             : results;
}

ElementType GpuScatterKernel::TypeOf(size_t i) const {
  return kernel_.module.shape(windows_.array(i)).element_type();
}

std::vector<Value*> GpuScatterKernel::Load(Value* at) {
  std::vector<Value*> values;
  for (size_t i = 0; i < arity_; ++i) {
    values.push_back(function_.Load(TypeOf(i), function_.result(i), at, 1));
  }
  return values;
}

void GpuScatterKernel::Store(const std::vector<Value*>& values, Value* at) {
  for (size_t i = 0; i < arity_; ++i) {
    function_.Store(values[i], TypeOf(i), function_.result(i), at, 1);
  }
}

EmittedKernel EmitGpuScatter(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuScatterKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
