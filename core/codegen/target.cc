#include "core/codegen/target.h"

#include <fmt/format.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include <array>
#include <mutex>
#include <vector>

#include "core/codegen/emit/byte_products.h"
#include "core/codegen/math/functions.h"
#include "core/codegen/narrow_integers.h"

namespace hloscope::codegen {
namespace {

// Reduction of strengths in loops took a third of the time and scheduling a tenth, and the code ran
// no faster for it: loops are written with the few counters that they need.
constexpr std::array kLlvmOptions = {"hloscope", "-disable-lsr", "-enable-misched=false"};

void InitializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::cl::ParseCommandLineOptions(static_cast<int>(kLlvmOptions.size()), kLlvmOptions.data());
  });
}

// LLVM 19 takes sums of sign-extended bytes times a constant above zero for products of unsigned
// bytes where the processor has instructions for those, and gives wrong sums. Functions that write
// these instructions themselves, and no such sums, ask for them (ByteProducts).
constexpr const char* kWithoutByteProducts = "-avx512vnni,-avxvnni,-avxvnniint8";

// What this machine is, which costs a little to find out.
struct Host {
  std::string triple = llvm::sys::getProcessTriple(), cpu = llvm::sys::getHostCPUName().str(),
              own_features, features;

  Host() {
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
      if (!own_features.empty()) own_features += ',';
      own_features += (feature.second ? '+' : '-') + feature.first().str();
    }
    features = own_features + (own_features.empty() ? "" : ",") + kWithoutByteProducts;
  }
  static const Host& This() {
    static const Host host;
    return host;
  }
};

Status EmitFile(llvm::TargetMachine& machine, llvm::legacy::PassManager& passes,
                llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType type) {
  if (!machine.addPassesToEmitFile(passes, stream, nullptr, type)) return {};
  return InternalError("LLVM: the target cannot emit this file type");
}

}  // namespace

// The passes over LLVM IR, and what they find out about a module.
class Target::Passes {
 public:
  explicit Passes(llvm::TargetMachine& machine) : builder_(&machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
    passes_.addPass(llvm::EarlyCSEPass(false));
    passes_.addPass(llvm::InstCombinePass());
    passes_.addPass(
        llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes_.addPass(llvm::EarlyCSEPass(true));
    passes_.addPass(llvm::SimplifyCFGPass());
    if (!machine.getTargetTriple().isNVPTX()) return;
    // What is constant of places becomes part of the instruction, and neighbouring elements are
    // read and written at once where they are known to be aligned: LLVM finds both in sums of 64
    // bits.
    passes_.addPass(llvm::InferAlignmentPass());
    passes_.addPass(llvm::SeparateConstOffsetFromGEPPass());
    passes_.addPass(llvm::EarlyCSEPass());
    passes_.addPass(llvm::LoadStoreVectorizerPass());
    passes_.addPass(NarrowIntegersPass());
    passes_.addPass(llvm::EarlyCSEPass());
    passes_.addPass(llvm::SimplifyCFGPass());
  }

  void Run(llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) passes_.run(function, functions_);
    }
    Forget();
  }

  void Inline(llvm::Module& module) {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass());
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
    passes.run(module, modules_);
    Forget();
  }

 private:
  void Forget() {
    loops_.clear();
    functions_.clear();
    components_.clear();
    modules_.clear();
  }

  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::FunctionPassManager passes_;
};

// The passes from LLVM IR to an object.
class Target::ObjectWriter {
 public:
  static Result<std::unique_ptr<ObjectWriter>> Make(llvm::TargetMachine& machine) {
    std::unique_ptr<ObjectWriter> out(new ObjectWriter);
    HLOSCOPE_TRY(EmitFile(machine, out->passes_, out->stream_, llvm::CodeGenFileType::ObjectFile));
    return out;
  }

  std::string Write(llvm::Module& module) {
    passes_.run(module);
    std::string object = stream_.str().str();
    bytes_.clear();
    return object;
  }

 private:
  ObjectWriter() : stream_(bytes_) {}

  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
};

Target::~Target() = default;

namespace {

// LLVM's target of a triple; `unknown` where it has no processor of that name.
Result<const llvm::Target*> TargetFor(const std::string& triple, const std::string& processor,
                                      const Status& unknown) {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (target == nullptr) return UnsupportedError("LLVM: " + message);
  const std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (known == nullptr || !known->isCPUStringValid(processor)) {
    return std::unexpected(unknown.error());
  }
  return target;
}

// Products and sums are rounded each, as HLO has them.
llvm::TargetOptions ExactOptions() {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return options;
}

}  // namespace

bool IsGpuTarget(const std::string& name) { return name.starts_with("sm_"); }

Result<std::unique_ptr<Target>> Target::MakeGpu(const std::string& architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses of shared and local memory are numbers of 32 bits: they take half the registers.
    const auto options = llvm::cl::getRegisteredOptions();
    if (const auto it = options.find("nvptx-short-ptr"); it != options.end()) {
      static_cast<llvm::cl::opt<bool>*>(it->second)->setValue(true);
    }
  });
  constexpr const char* kTriple = "nvptx64-nvidia-cuda";
  HLOSCOPE_ASSIGN_OR_RETURN(
      const llvm::Target* const target,
      TargetFor(
          kTriple, architecture,
          UnsupportedError(fmt::format("target {}: LLVM does not emit PTX for it", architecture),
                           "sm_80 and sm_90 are known")));
  std::unique_ptr<Target> out(new Target);
  out->cpu_ = architecture;
  out->effort_ = Effort::kUsual;
  out->machine_.reset(target->createTargetMachine(kTriple, architecture, "", ExactOptions(),
                                                  std::nullopt, std::nullopt,
                                                  llvm::CodeGenOptLevel::Default));
  out->passes_ = std::make_unique<Passes>(*out->machine_);
  return out;
}

Result<std::unique_ptr<Target>> Target::Make(const std::string& cpu, Effort effort) {
  InitializeOnce();
  if (IsGpuTarget(cpu)) return MakeGpu(cpu);
  const Host& host = Host::This();
  const std::string& name = cpu.empty() ? host.cpu : cpu;
  HLOSCOPE_ASSIGN_OR_RETURN(
      const llvm::Target* const target,
      TargetFor(host.triple, name,
                UnsupportedError(fmt::format("target {}: LLVM has no processor of that name", name),
                                 "llc -mcpu=help lists the names")));
  std::unique_ptr<Target> out(new Target);
  out->cpu_ = cpu;
  out->effort_ = effort;
  const std::string own_features = cpu.empty() ? host.own_features : "";
  const std::unique_ptr<llvm::MCSubtargetInfo> own(
      target->createMCSubtargetInfo(host.triple, name, own_features));
  if (own->checkFeatures("+avx512vnni,+avx512vl,+avx512bw")) {
    out->byte_product_features_ = own_features + (own_features.empty() ? "" : ",") + "+avx512vnni";
  }
  out->machine_.reset(target->createTargetMachine(
      host.triple, name, cpu.empty() ? host.features : kWithoutByteProducts, ExactOptions(),
      llvm::Reloc::PIC_, llvm::CodeModel::Small,
      effort == Effort::kUsual ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::None, true));
  if (out->machine_ == nullptr) return UnsupportedError("LLVM has no target for " + host.triple);
  out->passes_ = std::make_unique<Passes>(*out->machine_);
  HLOSCOPE_ASSIGN_OR_RETURN(out->writer_, ObjectWriter::Make(*out->machine_));
  return out;
}

void Target::Prepare(llvm::Module& module) const {
  module.setTargetTriple(machine_->getTargetTriple().str());
  module.setDataLayout(machine_->createDataLayout());
  if (!IsGpuTarget(cpu_) && machine_->getMCSubtargetInfo()->checkFeatures("+avx512f")) {
    module.addModuleFlag(llvm::Module::Warning, kHasAvx512, 1);
  }
  if (!byte_product_features_.empty()) {
    module.addModuleFlag(llvm::Module::Warning, kByteProductFeatures,
                         llvm::MDString::get(module.getContext(), byte_product_features_));
  }
}

void Target::Inline(llvm::Module& module) { passes_->Inline(module); }

void Target::Optimize(llvm::Module& module) {
  if (effort_ == Effort::kUsual) passes_->Run(module);
}

std::string Target::ToObject(llvm::Module& module) { return writer_->Write(module); }

Result<std::string> Target::ToAssembly(llvm::Module& module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  HLOSCOPE_TRY(EmitFile(*machine_, passes, stream, llvm::CodeGenFileType::AssemblyFile));
  passes.run(module);
  return stream.str().str();
}

Status CheckSound(const llvm::Module& module) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) return InternalError("LLVM: " + stream.str());
  return {};
}

namespace {

struct KeptTargets {
  std::mutex mutex;
  std::vector<std::unique_ptr<Target>> free;
};

// Never destroyed: LLVM's own statics may be gone by then.
KeptTargets& Kept() {
  static KeptTargets* const kept = new KeptTargets;
  return *kept;
}

}  // namespace

Result<BorrowedTarget> BorrowedTarget::Take(const std::string& cpu, Effort effort) {
  {
    KeptTargets& kept = Kept();
    const std::lock_guard lock(kept.mutex);
    for (auto& each : kept.free) {
      if (each->cpu_ != cpu || each->effort_ != effort) continue;
      std::swap(each, kept.free.back());
      BorrowedTarget out(std::move(kept.free.back()));
      kept.free.pop_back();
      return out;
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto target, Target::Make(cpu, effort));
  return BorrowedTarget(std::move(target));
}

Result<bool> HasByteProducts(const std::string& cpu) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto target, BorrowedTarget::Take(cpu, Effort::kUsual));
  return target->has_byte_products();
}

BorrowedTarget::~BorrowedTarget() {
  if (target_ == nullptr) return;
  KeptTargets& kept = Kept();
  const std::lock_guard lock(kept.mutex);
  kept.free.push_back(std::move(target_));
}

}  // namespace hloscope::codegen
