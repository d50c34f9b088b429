// The files of a dump, with one instruction in it.
#include "app/commands/extract_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "app/module_form.h"
#include "core/base/file.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::app {
namespace {

using debug::KernelQuestion;
using replay::CaseSlice;

constexpr std::string_view kStem = "module_0000.kernel";

// "sm_9.0a" of the code's ".target sm_90a".
std::string PointOf(const replay::KernelCase& kernels) {
  std::string_view text = kernels.code[0].text;
  const size_t at = text.find(".target sm_");
  if (at == std::string_view::npos) return "sm_9.0";
  text.remove_prefix(at + std::string_view(".target sm_").size());
  const std::string_view number = text.substr(0, text.find_first_of(" ,\n\r\t"));
  size_t digits = 0;
  while (digits < number.size() && number[digits] >= '0' && number[digits] <= '9') ++digits;
  if (digits < 2) return "sm_9.0";
  return fmt::format("sm_{}.{}", number.substr(0, digits - 1), number.substr(digits - 1));
}

std::string ThunkText(const replay::KernelCase& kernels) {
  std::string out;
  for (size_t i = 0; i < kernels.launches.size(); ++i) {
    const replay::CaseLaunch& launch = kernels.launches[i];
    out += fmt::format(
        "{:03}: kCustomKernel [{}] {} grid: [{}] threads: [{}]  shared_memory: {} bytes\n", i + 1,
        i == 0 ? "source" : fmt::format("prev={:03} (1)", i), launch.kernel,
        fmt::join(launch.blocks, ", "), fmt::join(launch.threads, ", "), launch.shared_bytes);
  }
  return out;
}

std::string MetadataText(const replay::KernelCase& kernels) {
  std::string out;
  for (size_t i = 0; i < kernels.launches.size(); ++i) {
    out += fmt::format(
        "thunk_metadata {{\n  thunk_info {{\n    profile_annotation: \"{}\"\n    thunk_id: {}\n  "
        "}}\n  thunk_kind: \"kCustomKernel\"\n}}\n",
        kernels.instruction, i + 1);
  }
  return out;
}

std::string IndexText(const std::vector<int64_t>& index) {
  return index.empty() ? "" : fmt::format("{{{}}}", fmt::join(index, ","));
}

// An allocation for each region of the case.
std::string AssignmentText(const KernelQuestion& question) {
  const replay::KernelCase& kernels = question.kernels;
  std::string out = "BufferAssignment:\n";
  for (size_t region = 0; region < kernels.memory.size(); ++region) {
    out += fmt::format("allocation {}: size {}, page 0, preallocated-temp:\n", region,
                       kernels.memory[region].size());
    const auto add = [&](const std::vector<debug::NamedLeaf>& leaves,
                         const std::vector<CaseSlice>& slices, size_t first) {
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (slices[i].region != region || slices[i].bytes == 0) continue;
        out += fmt::format(" value: <{} {}{} @0> (size={},offset={}): {}\n", first + i,
                           leaves[i].name, IndexText(leaves[i].index), slices[i].bytes,
                           slices[i].offset, hlo::ToString(leaves[i].shape));
      }
    };
    add(question.operand_leaves, kernels.operands, 1);
    add(question.result_leaves, kernels.results, 1 + question.operand_leaves.size());
  }
  return out;
}

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", folder, error.message()));
  if (std::filesystem::is_empty(folder, error)) return {};
  return InputError(fmt::format("{} has files already", folder), "name a new folder");
}

}  // namespace

Result<ExtractedKernel> ExtractKernel(const std::string& name, int64_t execution,
                                      const std::shared_ptr<const hlo::Module>& module,
                                      const debug::RunSpec& request, const std::string& folder,
                                      const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelOutcome outcome,
                            debug::CaseOfKernel(module, request, name, execution, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const KernelQuestion question, debug::QuestionOf(outcome));
  for (const replay::CaseLaunch& launch : question.kernels.launches) {
    if (launch.maps.empty()) continue;
    return UnsupportedError(fmt::format("kernel {} takes tensor maps, which the dump of one "
                                        "kernel does not hold",
                                        launch.kernel),
                            "compile with --xla_gpu_enable_triton_tma=false");
  }
  HLOSCOPE_TRY(MakeFolder(folder));
  const auto path = [&](std::string_view rest) {
    return (std::filesystem::path(folder) / fmt::format("{}.{}", kStem, rest)).string();
  };
  const replay::KernelCase& kernels = question.kernels;
  const std::string point = PointOf(kernels) + "_gpu_after_optimizations";
  ExtractedKernel made;
  made.module = path(point + ".txt");
  HLOSCOPE_ASSIGN_OR_RETURN(const ModuleForm form, ModuleFormFromPath("module.hlo"));
  HLOSCOPE_TRY(WriteFileAtomically(made.module, RenderModule({}, question.alone, form)));
  HLOSCOPE_TRY(
      WriteFileAtomically(path(point + "-buffer-assignment.txt"), AssignmentText(question)));
  HLOSCOPE_TRY(WriteFileAtomically(path("thunk_sequence.txt"), ThunkText(kernels)));
  HLOSCOPE_TRY(WriteFileAtomically(path("thunk_metadata.txt"), MetadataText(kernels)));
  for (size_t i = 0; i < kernels.code.size(); ++i) {
    HLOSCOPE_TRY(WriteFileAtomically(path(fmt::format("{}.ptx", i + 1)), kernels.code[i].text));
  }
  for (const replay::CaseLaunch& launch : kernels.launches) made.kernels.push_back(launch.kernel);
  made.parameters = question.arguments.size();
  made.instructions = question.alone->entry().instruction_count - made.parameters;
  if (!question.arguments.empty()) {
    made.inputs = (std::filesystem::path(folder) / "inputs.npz").string();
    HLOSCOPE_TRY(dump::WriteTensors(made.inputs, dump::TensorNames::kInputs, question.arguments));
  }
  const debug::RunReport meant = debug::RunModule(
      question.alone,
      debug::AloneSpec(request, std::string(replay::ReferencePlatform().name), question.arguments),
      stop);
  if (meant.error) return std::unexpected(*meant.error);
  std::vector<hlo::Literal> expected;
  for (const debug::RunOutput& output : meant.outputs) expected.push_back(output.value);
  made.expected = (std::filesystem::path(folder) / "expected.npz").string();
  HLOSCOPE_TRY(dump::WriteTensors(made.expected, dump::TensorNames::kOutputs, expected));
  return made;
}

}  // namespace hloscope::app
