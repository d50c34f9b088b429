// A concatenation of many arrays: each is copied to its place, by a table of places, so that
// neither the code nor the work for an element grows with their number.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/compile/fusion/kernel_work.h"
#include "core/compile/fusion/part_rows.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr int64_t kCopiedBytes = int64_t{1} << 17;  // by a grain, about; larger parts are cut
constexpr int64_t kMaxInline = 64;                  // bytes copied without a call

// The parts of a concatenation by their rows; nullopt where one is not taken from a parameter.
std::optional<std::vector<compile::PartRows>> PartsOf(const Kernel& kernel) {
  const bool is_alone = kernel.id == kernel.roots[0];
  std::vector<compile::PartRows> parts;
  for (size_t k = 0; k < kernel.module.operands(kernel.roots[0]).size(); ++k) {
    if (is_alone) {
      parts.push_back(compile::WholePart(kernel.module, kernel.id, k));
      continue;
    }
    auto rows = compile::PartRowsOf(kernel.module, kernel.roots[0], k);
    if (!rows || kernel.module[rows->array].opcode != hlo::Opcode::kParameter) return std::nullopt;
    parts.push_back(std::move(*rows));
  }
  return parts;
}

// A row of the result, or of a part, in bytes.
class ConcatenateKernel {
 public:
  ConcatenateKernel(llvm::Module& module, const Kernel& kernel,
                    const std::vector<compile::PartRows>& parts, const std::string& name)
      : kernel_(kernel), name_(name), function_(module, kernel, name, -1), rows_(parts[0].rows) {
    const int64_t bytes = hlo::StorageBytes(kernel.module.shape(kernel.roots[0]).element_type());
    std::unordered_map<uint32_t, int64_t> numbers;  // of parameters
    for (size_t k = 0; k < kernel.parameters.size(); ++k) {
      numbers.emplace(kernel.parameters[k].index, static_cast<int64_t>(k));
    }
    for (const compile::PartRows& part : parts) {
      const int64_t length = part.length * bytes;
      for (int64_t from = 0; from < length; from += kCopiedBytes) {
        AddRow({numbers.at(part.array.index), part.stride * bytes, part.from * bytes + from,
                row_bytes_ + from, std::min(kCopiedBytes, length - from)});
      }
      row_bytes_ += length;
    }
  }

  EmittedKernel Emit() {
    const bool by_rows = row_bytes_ <= kCopiedBytes;
    const int64_t units = by_rows ? rows_ : rows_ * pieces_;
    const int64_t unit_bytes =
        std::max<int64_t>(1, rows_ * row_bytes_ / std::max<int64_t>(1, units));
    const int64_t grain =
        std::clamp<int64_t>(kCopiedBytes / unit_bytes, 1, std::max<int64_t>(1, units));
    EmittedKernel out = InGrains(name_, std::max<int64_t>(1, units), grain, 2 * unit_bytes, 1);
    table_ = NewTable();
    llvm::IRBuilder<>& b = function_.builder();
    function_.ForUnits(units, grain, [&](Value* unit) {
      if (by_rows) {
        function_.Loop(function_.Int(0), function_.Int(pieces_), 1,
                       [&](Value* piece) { Copy(unit, piece); });
      } else {
        Copy(b.CreateUDiv(unit, function_.Int(pieces_)),
             b.CreateURem(unit, function_.Int(pieces_)));
      }
    });
    function_.Finish();
    out.is_complete = true;
    return out;
  }

 private:
  enum Column : uint8_t { kOperand, kStride, kFrom, kTo, kBytes, kColumns };

  void AddRow(const std::array<int64_t, kColumns>& row) {
    common_bytes_ = pieces_ == 0 || common_bytes_ == row[kBytes] ? row[kBytes] : 0;
    for (const int64_t number : row) numbers_.push_back(static_cast<uint64_t>(number));
    ++pieces_;
  }

  llvm::GlobalVariable* NewTable() {
    llvm::Constant* data = llvm::ConstantDataArray::get(function_.builder().getContext(), numbers_);
    auto* table = new llvm::GlobalVariable(*function_.builder().GetInsertBlock()->getModule(),
                                           data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                           data, name_ + "_parts");
    table->setAlignment(llvm::Align(64));
    return table;
  }

  // The piece of a row of the result.
  void Copy(Value* row, Value* piece) {
    llvm::IRBuilder<>& b = function_.builder();
    Value* line = b.CreateMul(piece, function_.Int(kColumns));
    const auto number = [&](Column column) {
      Value* at = b.CreateAdd(line, function_.Int(column));
      return b.CreateAlignedLoad(b.getInt64Ty(), b.CreateGEP(b.getInt64Ty(), table_, at),
                                 llvm::Align(8));
    };
    Value* part = b.CreateAlignedLoad(
        b.getPtrTy(), b.CreateGEP(b.getPtrTy(), function_.operands(), number(kOperand)),
        llvm::Align(8));
    Value* from = b.CreateAdd(b.CreateMul(row, number(kStride)), number(kFrom));
    Value* to = b.CreateAdd(b.CreateMul(row, function_.Int(row_bytes_)), number(kTo));
    const bool is_inline = common_bytes_ > 0 && common_bytes_ <= kMaxInline;
    Value* bytes = is_inline ? static_cast<Value*>(function_.Int(common_bytes_)) : number(kBytes);
    const llvm::Align align(static_cast<uint64_t>(
        hlo::StorageBytes(kernel_.module.shape(kernel_.roots[0]).element_type())));
    b.CreateMemCpy(b.CreateGEP(b.getInt8Ty(), function_.result(0), to), align,
                   b.CreateGEP(b.getInt8Ty(), part, from), align, bytes);
  }

  const Kernel& kernel_;
  const std::string& name_;
  KernelFunction function_;
  int64_t rows_ = 1, row_bytes_ = 0, pieces_ = 0;
  int64_t common_bytes_ = 0;  // of all pieces; 0 where they differ
  std::vector<uint64_t> numbers_;
  llvm::GlobalVariable* table_ = nullptr;
};

}  // namespace

EmittedKernel EmitConcatenate(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const auto operands = kernel.module.operands(kernel.roots[0]);
  if (kernel.roots.size() != 1 || operands.size() <= compile::kMaxPartsInLoop ||
      IsUnrolled(kernel)) {
    return EmitLoop(module, kernel, name);
  }
  const auto parts = PartsOf(kernel);
  if (!parts) return EmitLoop(module, kernel, name);
  return ConcatenateKernel(module, kernel, *parts, name).Emit();
}

}  // namespace hloscope::codegen
