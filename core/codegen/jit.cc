// LLVM's side of code generation.
#include "core/codegen/jit.h"

#include <fmt/format.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "core/codegen/math/functions.h"
#include "core/codegen/math/symbols.h"

namespace hloscope::codegen {
namespace {

void InitializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::string HostFeatures() {
  std::string out;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!out.empty()) out += ',';
    out += (feature.second ? '+' : '-') + feature.first().str();
  }
  return out;
}

std::unexpected<Error> LlvmError(llvm::Error error) {
  return InternalError("LLVM: " + llvm::toString(std::move(error)));
}

}  // namespace

Result<Target> Target::Make(const std::string& cpu) {
  InitializeOnce();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (target == nullptr) return UnsupportedError("LLVM: " + message);
  const std::string name = cpu.empty() ? llvm::sys::getHostCPUName().str() : cpu;
  const std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (known == nullptr || !known->isCPUStringValid(name)) {
    return UnsupportedError(fmt::format("target {}: LLVM has no processor of that name", name),
                            "llc -mcpu=help lists the names");
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, name, cpu.empty() ? HostFeatures() : "", options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, true));
  if (machine == nullptr) return UnsupportedError("LLVM writes no code for " + triple);
  return Target(std::move(machine));
}

void Target::Prepare(llvm::Module& module) const {
  module.setTargetTriple(machine_->getTargetTriple().str());
  module.setDataLayout(machine_->createDataLayout());
  if (machine_->getMCSubtargetInfo()->checkFeatures("+avx512f")) {
    module.addModuleFlag(llvm::Module::Warning, kHasAvx512, 1);
  }
}

namespace {

// LLVM's analyses, which its passes ask.
struct Analyses {
  explicit Analyses(llvm::TargetMachine* machine) {
    llvm::PassBuilder builder(machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

}  // namespace

void Target::Inline(llvm::Module& module) const {
  Analyses analyses(machine_.get());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
  passes.run(module, analyses.modules);
}

Status Target::Optimize(llvm::Module& module) const {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) return InternalError("LLVM: " + stream.str());
  Analyses analyses(machine_.get());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(false));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
  }
  return {};
}

namespace {

Status EmitFile(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
                llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return InternalError("LLVM: the target writes no such file");
  }
  passes.run(module);
  return {};
}

}  // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> Target::ToObject(llvm::Module& module) const {
  llvm::SmallVector<char, 0> bytes;
  HLOSCOPE_TRY(EmitFile(*machine_, module, llvm::CodeGenFileType::ObjectFile, bytes));
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), false);
}

Result<std::string> Target::ToAssembly(llvm::Module& module) const {
  llvm::SmallVector<char, 0> bytes;
  HLOSCOPE_TRY(EmitFile(*machine_, module, llvm::CodeGenFileType::AssemblyFile, bytes));
  return std::string(bytes.data(), bytes.size());
}

Result<std::unique_ptr<LinkedCode>> LinkedCode::Make() {
  InitializeOnce();
  llvm::orc::LLJITBuilder builder;
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  auto jit = builder.create();
  if (!jit) return LlvmError(jit.takeError());
  llvm::orc::SymbolMap symbols;
  for (const Symbol& symbol : Symbols()) {
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported};
  }
  llvm::orc::JITDylib& library = (*jit)->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    return LlvmError(std::move(error));
  }
  return std::unique_ptr<LinkedCode>(new LinkedCode(std::move(*jit)));
}

Status LinkedCode::Add(std::unique_ptr<llvm::MemoryBuffer> object) {
  if (auto error = jit_->addObjectFile(std::move(object))) return LlvmError(std::move(error));
  return {};
}

Result<void*> LinkedCode::Find(const std::string& name) {
  auto address = jit_->lookup(name);
  if (!address) return LlvmError(address.takeError());
  return address->toPtr<void*>();
}

}  // namespace hloscope::codegen
