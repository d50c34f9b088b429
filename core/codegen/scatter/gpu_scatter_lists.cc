// Updates into many elements: a thread a unit puts it into the list of its element, which takes an
// exchange, so lists have no order; a thread an element then goes through its list once for each
// unit, always to the next one in the order of the indices. What has a long list is marked and, in
// a last launch, goes by tiles.
#include "core/codegen/scatter/gpu_scatter_kernel.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr int64_t kBlocksOfLong = 128;  // that share the elements of long lists
constexpr int64_t kLongList = 64;       // units that a thread does not go through any more
constexpr uint32_t kEnd = 0, kIsLong = UINT32_MAX;  // else a unit's number and 1

}  // namespace

// Words of scratch memory: whether there are long lists, the first units by element, the next ones
// by unit.
Value* GpuScatterKernel::ListWord(int64_t first, Value* i) {
  return b_.CreateGEP(b_.getInt32Ty(), function_.scratch(), b_.CreateAdd(Int(first), i));
}

void GpuScatterKernel::ByLists() {
  windows_.BeginAll();
  Value* any_long = ListWord(0, Int(0));
  InPass(0, [&] {
    ForAll(of_.elements + 1, [&](Value* i) { b_.CreateStore(b_.getInt32(kEnd), ListWord(0, i)); });
  });
  InPass(1, [&] { ForAll(of_.units(), [&](Value* unit) { Link(unit); }); });
  InPass(2, [&] { ForAll(of_.elements, [&](Value* at) { ApplyList(at); }); });
  InPass(3, [&] {
    Value* has_some = b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), any_long), b_.getInt32(0));
    Value* is_block = b_.CreateICmpSLT(function_.begin(), Int(kBlocksOfLong));
    block_.When(b_.CreateAnd(has_some, is_block), [&] {
      BeginTiles();
      const int64_t of_block = (of_.elements - 1) / kBlocksOfLong + 1;
      GoThrough(
          of_.units(),
          [&](Value* unit) -> Place {
            const auto [at, fits] = PlaceOfUnit(unit);
            Value* is_own = b_.CreateICmpEQ(b_.CreateUDiv(at, Int(of_block)), function_.begin());
            is_own = Both(math_, is_own, fits);
            Value* own = b_.CreateSelect(is_own, at, Int(0));
            Value* head = b_.CreateLoad(b_.getInt32Ty(), ListWord(1, own));
            return {at, b_.CreateAnd(is_own, b_.CreateICmpEQ(head, b_.getInt32(kIsLong)))};
          },
          [&](Value* count) {
            ShortWindows(count, 1, [&](Value* unit, Value*) { return UpdatesOfUnit(unit); });
          });
    });
  });
}

void GpuScatterKernel::Link(Value* unit) {
  const auto [at, fits] = PlaceOfUnit(unit);
  const auto link = [&, at = at] {
    Value* number = b_.CreateAdd(b_.CreateTrunc(unit, b_.getInt32Ty()), b_.getInt32(1));
    Value* next = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, ListWord(1, at), number, {},
                                     llvm::AtomicOrdering::Monotonic,
                                     b_.getContext().getOrInsertSyncScopeID("device"));
    b_.CreateStore(next, ListWord(1 + of_.elements, unit));
  };
  fits == nullptr ? link() : block_.When(fits, link);
}

// From unit `first` of a list on: how many there are, `most` at most, and the smallest that is
// larger than `after`.
std::pair<Value*, Value*> GpuScatterKernel::NextOfList(Value* first, Value* after, int64_t most) {
  Value* end = b_.getInt32(kEnd);
  const auto found = function_.While(
      {first, b_.getInt32(0), b_.getInt32(kIsLong)},
      [&](const std::vector<Value*>& at) {
        return b_.CreateAnd(b_.CreateICmpNE(at[0], end),
                            b_.CreateICmpULT(at[1], b_.getInt32(static_cast<uint32_t>(most))));
      },
      [&](const std::vector<Value*>& at) {
        Value* smaller = Call(b_, llvm::Intrinsic::umin, {at[0], at[2]});
        Value* best = b_.CreateSelect(b_.CreateICmpUGT(at[0], after), smaller, at[2]);
        Value* unit = b_.CreateZExt(b_.CreateSub(at[0], b_.getInt32(1)), b_.getInt64Ty());
        Value* next = b_.CreateLoad(b_.getInt32Ty(), ListWord(1 + of_.elements, unit));
        return std::vector<Value*>{next, b_.CreateAdd(at[1], b_.getInt32(1)), best};
      });
  return {found[1], found[2]};
}

void GpuScatterKernel::ApplyList(Value* at) {
  Value* head = b_.CreateLoad(b_.getInt32Ty(), ListWord(1, at));
  block_.When(b_.CreateICmpNE(head, b_.getInt32(kEnd)), [&] {
    const auto [count, smallest] = NextOfList(head, b_.getInt32(kEnd), kLongList + 1);
    Value* is_long = b_.CreateICmpUGT(count, b_.getInt32(kLongList));
    block_.When(is_long, [&] {
      b_.CreateStore(b_.getInt32(kIsLong), ListWord(1, at));
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, ListWord(0, Int(0)), b_.getInt32(1), {},
                         llvm::AtomicOrdering::Monotonic,
                         b_.getContext().getOrInsertSyncScopeID("device"));
    });
    block_.When(b_.CreateNot(is_long), [&, count = count, smallest = smallest] {
      std::vector<Value*> state = Load(at);
      state.push_back(smallest);
      Value* last = b_.CreateZExt(count, b_.getInt64Ty());
      state = function_.Loop(Int(0), last, 1, state, [&](Value* i, std::vector<Value*> so_far) {
        Value* number = so_far.back();
        so_far.pop_back();
        Value* unit = b_.CreateZExt(b_.CreateSub(number, b_.getInt32(1)), b_.getInt64Ty());
        std::vector<Value*> next = Combined(std::move(so_far), UpdatesOfUnit(unit));
        Value* is_last = b_.CreateICmpEQ(b_.CreateAdd(i, Int(1)), last);
        Value* from = b_.CreateSelect(is_last, b_.getInt32(kEnd), head);
        next.push_back(NextOfList(from, number, kLongList).second);
        return next;
      });
      state.pop_back();
      Store(state, at);
    });
  });
}

}  // namespace hloscope::codegen
