// One LLVM module for all: the entry calls its kernels, which nobody else sees.
#include "core/codegen/object.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Object/ObjectFile.h>

#include <algorithm>

#include "core/codegen/emit/entry_function.h"
#include "core/codegen/target.h"
#include "core/linking/symbols.h"

namespace hloscope::codegen {

using compile::ObjectCode;

namespace {

std::unexpected<Error> LlvmError(llvm::Error error) {
  return InternalError("LLVM: " + llvm::toString(std::move(error)));
}

// Internal where one is not in the table of what code may call.
Result<std::vector<std::string>> SymbolsAskedFor(const std::string& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) return LlvmError(file.takeError());
  std::vector<std::string> out;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return LlvmError(flags.takeError());
    auto name = symbol.getName();
    if (!name) return LlvmError(name.takeError());
    const bool is_asked_for = (*flags & llvm::object::SymbolRef::SF_Undefined) != 0;
    if (is_asked_for && !name->empty()) out.push_back(name->str());
  }
  std::ranges::sort(out);
  for (const std::string& name : out) {
    const bool is_ours = std::ranges::any_of(
        linking::Symbols(), [&](const linking::Symbol& symbol) { return name == symbol.name; });
    if (!is_ours) return InternalError("no symbol " + name + " in the table");
  }
  return out;
}

}  // namespace

Result<ObjectCode> WriteObject(const compile::Plan& plan, const compile::ObjectOptions& options) {
  HLOSCOPE_ASSIGN_OR_RETURN(const BorrowedTarget target,
                            BorrowedTarget::Take(options.target, Effort::kUsual));
  llvm::LLVMContext context;
  llvm::Module code(options.entry, context);
  target->Prepare(code);
  HLOSCOPE_ASSIGN_OR_RETURN(const EmittedEntry entry, EmitEntryFunction(code, plan, options.entry));
  target->Inline(code);
  target->Optimize(code);
  ObjectCode out;
  out.bytes = target->ToObject(code);
  out.temp_bytes = entry.temp_bytes;
  out.functions = entry.kernels;
  HLOSCOPE_ASSIGN_OR_RETURN(out.symbols, SymbolsAskedFor(out.bytes));
  return out;
}

}  // namespace hloscope::codegen
