// Tiles lie in shared memory as they lie in the array: lines of 16-bit units, or for each depth all
// lines; rows of them are 8 units longer, so that eight rows of 16 bytes are in different banks.
// Fragments come by ldmatrix (PTX ISA), which turns the latter around. Bytes are turned around four
// by four where their lines lie side by side.
#include "core/codegen/dot/tensor_side.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "core/codegen/math/numbers.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using llvm::Value;

constexpr int64_t kWordBytes = 4, kWidestBytes = 16, kPadding = 8, kFragment = 16;
constexpr int64_t kTurnedAround = 4;  // bytes of the depth

}  // namespace

TensorSide::TensorSide(KernelFunction& function, GpuBlock& block, const Matrix& matrix,
                       TensorType type, int64_t parts, int64_t tile_lines, int64_t threads)
    : function_(function),
      block_(block),
      b_(function.builder()),
      matrix_(matrix),
      type_(type),
      parts_(parts),
      tile_lines_(tile_lines),
      threads_(threads) {
  ChooseGroups(threads);
  is_depth_outer_ = matrix.depth_stride != 1 && matrix.line_stride == 1 && !HasBytes();
  pitch_ = (is_depth_outer_ ? tile_lines : kTensorUnits) + kPadding;
  const int64_t rows = is_depth_outer_ ? tile_depth() : tile_lines;
  for (int64_t part = 0; part < parts; ++part) {
    rooms_.push_back(block_.Shared(b_.getInt16Ty(), rows * pitch_));
  }
}

void TensorSide::ChooseGroups(int64_t threads) {
  const bool is_depth_fast = matrix_.depth_stride == 1;
  if (!is_depth_fast && matrix_.line_stride != 1) return;
  const int64_t bytes = hlo::StorageBytes(matrix_.element);
  const int64_t fast = is_depth_fast ? matrix_.depth : matrix_.lines;
  const int64_t other = is_depth_fast ? matrix_.line_stride : matrix_.depth_stride;
  int64_t rows = tile_lines_ * tile_depth() / threads;
  is_transposed_ = HasBytes() && !is_depth_fast;
  if (is_transposed_) rows /= kTurnedAround;
  group_ = std::min(kWidestBytes / bytes, std::max<int64_t>(rows, 1));
  while (group_ > 1 &&
         (fast % group_ != 0 || other % group_ != 0 || matrix_.begins_at % group_ != 0)) {
    group_ /= 2;
  }
  if (group_ * bytes < kWordBytes) group_ = 1;
  is_transposed_ &= group_ > 1;
}

void TensorSide::Begin(Value* matrix, Value* first_line) {
  const bool is_depth_fast = matrix_.depth_stride == 1;
  const int64_t each = is_transposed_ ? kTurnedAround : 1;  // of the depth
  const int64_t groups = (is_depth_fast ? tile_depth() : tile_lines_) / group_;
  for (int64_t i = 0; i < tile_lines_ * tile_depth(); i += threads_ * group_ * each) {
    Value* number = b_.CreateAdd(function_.thread(), Int(i / (group_ * each)));
    Value* inner = b_.CreateMul(b_.CreateURem(number, Int(groups)), Int(group_));
    Value* outer = b_.CreateMul(b_.CreateUDiv(number, Int(groups)), Int(each));
    Value* k = is_depth_fast ? inner : outer;
    Value* line = is_depth_fast ? outer : inner;
    // Lines beyond the last are made of it and never written.
    const int64_t last = matrix_.lines - (is_depth_fast ? 1 : group_);
    Value* own_line = function_.Smaller(b_.CreateAdd(first_line, line), Int(last));
    Value* at = b_.CreateAdd(matrix, b_.CreateMul(own_line, Int(matrix_.line_stride)));
    Value* place = is_depth_outer_ ? b_.CreateAdd(b_.CreateMul(k, Int(pitch_)), line)
                   : HasBytes()    ? b_.CreateAdd(b_.CreateMul(line, Int(2 * pitch_)), k)
                                   : b_.CreateAdd(b_.CreateMul(line, Int(pitch_)), k);
    tasks_.push_back({at, k, place});
  }
}

void TensorSide::BeginFragments(Value* line, Value* lane) {
  // Lane l says where row l % 8 of matrix l / 8 begins; of the four the second half of the lines
  // is the second of the left side's and the third of the right one's, as mma wants them.
  Value* row = b_.CreateURem(lane, Int(8));
  Value* second = b_.CreateMul(b_.CreateURem(b_.CreateUDiv(lane, Int(8)), Int(2)), Int(8));
  Value* third = b_.CreateMul(b_.CreateUDiv(lane, Int(16)), Int(8));
  Value* own_line = b_.CreateAdd(line, matrix_.is_left ? second : third);
  Value* unit = matrix_.is_left ? third : second;
  fragment_ = is_depth_outer_
                  ? b_.CreateAdd(b_.CreateMul(b_.CreateAdd(unit, row), Int(pitch_)), own_line)
                  : b_.CreateAdd(b_.CreateMul(b_.CreateAdd(own_line, row), Int(pitch_)), unit);
}

std::array<Value*, 4> TensorSide::Fragment(int64_t part, int64_t line, int64_t unit) {
  const int64_t more = is_depth_outer_ ? unit * pitch_ + line : line * pitch_ + unit;
  Value* address = b_.CreateGEP(b_.getInt16Ty(), rooms_[static_cast<size_t>(part)],
                                b_.CreateAdd(fragment_, Int(more)));
  Value* all = b_.CreateIntrinsic(
      is_depth_outer_ ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                      : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16,
      {address->getType()}, {address});
  std::array<Value*, 4> registers = {};
  for (unsigned i = 0; i < registers.size(); ++i) registers[i] = b_.CreateExtractValue(all, i);
  return registers;
}

void TensorSide::Bring(Value* from) {
  for (const Task& task : tasks_) {
    is_transposed_ ? BringTransposed(task, from) : BringGroup(task, from);
  }
}

// Where a task's elements are, `more` further along the depth. Beyond it the last ones.
Value* TensorSide::AtDepth(const Task& task, Value* from, int64_t more, Value*& is_there) {
  Value* depth = b_.CreateAdd(from, b_.CreateAdd(task.k, Int(more)));
  is_there = nullptr;
  if (matrix_.depth % tile_depth() != 0) {
    is_there = b_.CreateICmpSLT(depth, Int(matrix_.depth));
    const int64_t last = matrix_.depth - (matrix_.depth_stride == 1 ? group_ : 1);
    depth = function_.Smaller(depth, Int(last));
  }
  return b_.CreateAdd(task.at, b_.CreateMul(depth, Int(matrix_.depth_stride)));
}

namespace {

llvm::LoadInst* Invariant(Builder& b, llvm::LoadInst* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

Value* OrZero(Builder& b, Value* is_there, Value* value) {
  if (is_there == nullptr) return value;
  return b.CreateSelect(is_there, value, llvm::Constant::getNullValue(value->getType()));
}

}  // namespace

Value* TensorSide::Element(Value* at) {
  llvm::Type* memory = MemoryType(b_, matrix_.element);
  Value* array = function_.Arrays().at(matrix_.operand.index).address;
  const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(matrix_.element)));
  Value* bits = Invariant(b_, b_.CreateAlignedLoad(memory, b_.CreateGEP(memory, array, at), align));
  return b_.CreateBitCast(
      bits, b_.getIntNTy(static_cast<unsigned>(8 * hlo::StorageBytes(matrix_.element))));
}

// The elements of a group, as words.
std::vector<Value*> TensorSide::Words(Value* at) {
  const int64_t bytes = hlo::StorageBytes(matrix_.element);
  const auto count = static_cast<unsigned>(group_ * bytes / kWordBytes);
  Value* array = function_.Arrays().at(matrix_.operand.index).address;
  Value* address = b_.CreateGEP(b_.getInt8Ty(), array, b_.CreateMul(at, Int(bytes)));
  const llvm::Align align(static_cast<uint64_t>(group_ * bytes));
  if (count == 1) return {Invariant(b_, b_.CreateAlignedLoad(b_.getInt32Ty(), address, align))};
  Value* all = Invariant(
      b_, b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getInt32Ty(), count), address, align));
  std::vector<Value*> words;
  for (unsigned i = 0; i < count; ++i) words.push_back(b_.CreateExtractElement(all, i));
  return words;
}

// An element that is one unit as such.
Value* TensorSide::Unit(Value* bits) {
  const ElementType from = matrix_.element;
  llvm::Type* half = b_.getInt16Ty();
  if (hlo::StorageBytes(from) == 2) return bits;
  if (type_ == TensorType::kF16 && from == ElementType::kF8E5M2) {
    return b_.CreateShl(b_.CreateZExt(bits, half), 8);
  }
  if (type_ == TensorType::kF16 && from == ElementType::kF8E4M3FN) {
    // f16 has an exponent that counts from 8 less: 256 times as much. All ones are a NaN.
    Value* wide = b_.CreateZExt(bits, half);
    Value* rest = b_.CreateAnd(wide, b_.getInt16(0x7f));
    Value* sign = b_.CreateShl(b_.CreateAnd(wide, b_.getInt16(0x80)), 8);
    Value* number = b_.CreateBitCast(b_.CreateOr(sign, b_.CreateShl(rest, 7)), b_.getHalfTy());
    number = b_.CreateFMul(number, llvm::ConstantFP::get(b_.getHalfTy(), 256.0));
    return b_.CreateSelect(b_.CreateICmpEQ(rest, b_.getInt16(0x7f)), b_.getInt16(0x7fff),
                           b_.CreateBitCast(number, half));
  }
  Value* number = b_.CreateBitCast(bits, MemoryType(b_, from));
  number = Converted(b_, FromMemory(b_, number, from), from, ElementType::kF32);
  if (type_ == TensorType::kF16) {
    return b_.CreateBitCast(b_.CreateFPTrunc(number, b_.getHalfTy()), half);
  }
  // Floats of 8 bits are numbers of bf16.
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateBitCast(number, b_.getInt32Ty()), 16), half);
}

// The units of an element, by part: f32 is the sum of three numbers of bf16, each cut off, so that
// nothing overflows, and nothing is lost but what lies below 2^-133, the smallest number of bf16.
// Of what is not finite the first has all.
std::vector<Value*> TensorSide::UnitsOf(Value* bits) {
  if (parts_ == 1) return {Unit(bits)};
  Value* high = b_.CreateAnd(bits, b_.getInt32(0xffff0000));
  Value* magnitude = b_.CreateAnd(bits, b_.getInt32(0x7fffffff));
  Value* is_finite = b_.CreateICmpULT(magnitude, b_.getInt32(0x7f800000));
  Value* is_nan = b_.CreateICmpUGT(magnitude, b_.getInt32(0x7f800000));
  llvm::Type* real = b_.getFloatTy();
  Value* rest = b_.CreateFSub(b_.CreateBitCast(bits, real), b_.CreateBitCast(high, real));
  rest = b_.CreateSelect(is_finite, rest, llvm::ConstantFP::get(real, 0.0));
  Value* middle = b_.CreateAnd(b_.CreateBitCast(rest, b_.getInt32Ty()), b_.getInt32(0xffff0000));
  Value* low = b_.CreateFSub(rest, b_.CreateBitCast(middle, real));
  high = b_.CreateSelect(is_nan, b_.getInt32(0x7fff0000), high);
  std::vector<Value*> units;
  for (Value* part : {high, middle, b_.CreateBitCast(low, b_.getInt32Ty())}) {
    units.push_back(b_.CreateTrunc(b_.CreateLShr(part, 16), b_.getInt16Ty()));
  }
  return units;
}

// Writes words side by side; `place` is a multiple of their number, in units or bytes.
void TensorSide::Put(const std::vector<Value*>& words, int64_t part, Value* place) {
  constexpr size_t kAtOnce = kWidestBytes / kWordBytes;
  Value* room = rooms_[static_cast<size_t>(part)];
  llvm::Type* unit = HasBytes() ? b_.getInt8Ty() : b_.getInt16Ty();
  Value* begin = b_.CreateGEP(unit, room, place);
  for (size_t i = 0; i < words.size(); i += kAtOnce) {
    const auto count = static_cast<unsigned>(std::min(kAtOnce, words.size() - i));
    Value* address = b_.CreateConstGEP1_64(b_.getInt32Ty(), begin, i);
    const llvm::Align align(kWordBytes * count);
    if (count == 1) {
      b_.CreateAlignedStore(words[i], address, align);
      continue;
    }
    Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt32Ty(), count));
    for (unsigned k = 0; k < count; ++k) all = b_.CreateInsertElement(all, words[i + k], k);
    b_.CreateAlignedStore(all, address, align);
  }
}

void TensorSide::BringGroup(const Task& task, Value* from) {
  Value* is_there = nullptr;
  Value* at = AtDepth(task, from, 0, is_there);
  if (group_ == 1) {
    Value* bits = OrZero(b_, is_there, Element(at));
    if (HasBytes()) return block_.Save(bits, rooms_[0], task.place);
    const std::vector<Value*> units = UnitsOf(bits);
    for (size_t part = 0; part < units.size(); ++part) {
      block_.Save(units[part], rooms_[part], task.place);
    }
    return;
  }
  std::vector<Value*> words = Words(at);
  for (Value*& word : words) word = OrZero(b_, is_there, word);
  const int64_t bytes = hlo::StorageBytes(matrix_.element);
  if (HasBytes() || bytes == 2) return Put(words, 0, task.place);
  // Elements one by one, and two units a word.
  std::vector<std::vector<Value*>> out(static_cast<size_t>(parts_));
  for (int64_t e = 0; e < group_; ++e) {
    Value* word = words[static_cast<size_t>(e * bytes / kWordBytes)];
    Value* bits = b_.CreateLShr(word, static_cast<uint64_t>(8 * (e * bytes % kWordBytes)));
    bits = b_.CreateTrunc(bits, b_.getIntNTy(static_cast<unsigned>(8 * bytes)));
    const std::vector<Value*> units = UnitsOf(bits);
    for (size_t part = 0; part < units.size(); ++part) {
      Value* unit = b_.CreateZExt(units[part], b_.getInt32Ty());
      if (e % 2 == 0) {
        out[part].push_back(unit);
      } else {
        out[part].back() = b_.CreateOr(out[part].back(), b_.CreateShl(unit, 16));
      }
    }
  }
  for (int64_t part = 0; part < parts_; ++part)
    Put(out[static_cast<size_t>(part)], part, task.place);
}

// Four of the depth, each with `group_` lines.
void TensorSide::BringTransposed(const Task& task, Value* from) {
  std::vector<std::vector<Value*>> rows;
  for (int64_t k = 0; k < kTurnedAround; ++k) {
    Value* is_there = nullptr;
    std::vector<Value*>& row = rows.emplace_back(Words(AtDepth(task, from, k, is_there)));
    for (Value*& word : row) word = OrZero(b_, is_there, word);
  }
  const auto pick = [&](Value* x, Value* y, uint32_t bytes) -> Value* {
    return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt, {}, {x, y, b_.getInt32(bytes)});
  };
  for (size_t word = 0; word < rows[0].size(); ++word) {
    // Bytes of two rows one after the other, of lines 0 and 1, 2 and 3; then of all four.
    constexpr uint32_t kLow = 0x5140, kHigh = 0x7362, kFirst = 0x5410, kSecond = 0x7632;
    int64_t line = 4 * static_cast<int64_t>(word);
    for (const uint32_t lines : {kLow, kHigh}) {
      Value* upper = pick(rows[0][word], rows[1][word], lines);
      Value* lower = pick(rows[2][word], rows[3][word], lines);
      for (const uint32_t both : {kFirst, kSecond}) {
        Put({pick(upper, lower, both)}, 0, b_.CreateAdd(task.place, Int(line++ * 2 * pitch_)));
      }
    }
  }
}

}  // namespace hloscope::codegen
