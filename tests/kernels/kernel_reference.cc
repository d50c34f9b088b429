// Kernels beside the second implementation: `kernel_reference [--checked N] FILE…`.
//
// FILE is a module before optimizations with the dump of XLA:GPU around it: each of its kernels
// runs on the operands that it has there; or a PTX text with a NAME.case beside it, which says how
// it is launched. Blocks run until N instructions of lanes were checked. A line for each kernel:
// file, kernel, target, blocks of how many, instructions checked, what the second implementation
// says, what the interpreter says; separated by tabs. Exit status 1: one of them disagrees.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/explain_kernel.h"
#include "core/dump/load.h"
#include "core/ptx/reference/scalar_reference.h"

namespace hloscope {
namespace {

uint64_t most_checked = 2'000'000;
bool all_agree = true;

struct Checked {
  uint64_t blocks = 0, of = 0, instructions = 0;
  std::string says = "equal";
};

// Blocks in order, on the same memory.
void CheckLaunch(const ptx::Module& module, const ptx::LaunchRequest& request, Checked& checked) {
  const auto [x, y, z] = request.grid;
  checked.of += uint64_t{x} * y * z;
  for (uint32_t b = 0; b < x * y * z && checked.instructions < most_checked; ++b) {
    const auto report = ptx::RunScalarReference(module, request, {b % x, b / x % y, b / x / y}, {});
    if (!report.has_value()) return checked.says = report.error().ToString(), void();
    ++checked.blocks;
    checked.instructions += report->checked;
    if (report->agrees()) continue;
    checked.says = report->missing ? report->missing->ToString()
                   : report->first
                       ? fmt::format("line {}: {}", report->first->place.line, report->first->what)
                   : report->fault ? report->fault->ToString()
                                   : "nothing was checked";
    if (const size_t at = checked.says.find('`'); report->missing && at != std::string::npos)
      checked.says.erase(0, at);
    return;
  }
}

void Tell(const std::string& file, const std::string& kernel, const std::string& target,
          const Checked& checked, const std::string& interpreter) {
  fmt::print("{}\t{}\t{}\t{} of {}\t{}\t{}\t{}\n", file, kernel, target, checked.blocks, checked.of,
             checked.instructions, checked.says, interpreter);
  const bool is_right =
      interpreter == "equal" || interpreter == "within the bounds" || interpreter.starts_with("-");
  all_agree = all_agree && checked.says == "equal" && is_right;
}

std::string TargetOf(const std::string& text) {
  const size_t at = text.find(".target ");
  if (at == std::string::npos) return "";
  return text.substr(at + 8, text.find_first_of(" ,\n\r", at + 8) - at - 8);
}

// Where bits differ, what `diverge` says of it.
std::string InterpreterOn(const replay::KernelOutcome& outcome, const replay::KernelOutcome& named,
                          const debug::RunSpec& spec) {
  if (!outcome.not_evaluated.empty()) return "- " + outcome.not_evaluated;
  if (outcome.same_bits == true) return "equal";
  auto question = debug::QuestionOf(named);
  if (!question.has_value()) return question.error().ToString();
  const auto explained = debug::ExplainKernel(*question, spec, {});
  if (!explained.has_value() && explained.error().error_class == ErrorClass::kUnsupported)
    return "- the kernel alone says what the instruction means";
  if (!explained.has_value()) return explained.error().ToString();
  if (!*explained) return "within the bounds";
  return ((*explained)->confirmed ? "explained: " : "differs: ") +
         std::string(debug::KeyOf((*explained)->cause));
}

Status CheckDump(const std::string& path) {
  const std::string name = std::filesystem::path(path).parent_path().filename().string();
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded, dump::LoadSoundModule(path, {}));
  debug::RunSpec spec;
  spec.test.name = "xla-gpu-sim";
  spec.load.module_file = path;
  spec.inputs.seed = 7;
  spec.reference.name = replay::ReferencePlatform().name;
  spec.budget.threads = 1;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto outcomes,
                            debug::OutcomesOfKernels(loaded.module, spec, {}, {}));
  std::set<std::string> seen;
  for (const replay::KernelOutcome& outcome : outcomes) {
    if (!seen.insert(outcome.instruction).second) continue;
    const auto named =
        debug::CaseOfKernel(loaded.module, spec, outcome.instruction, outcome.execution, {});
    if (!named.has_value()) return std::unexpected(named.error());
    const replay::KernelCase& kernels = *named->kernels_case;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto code, replay::LoadKernelCase(kernels));
    replay::CaseMemory memory = kernels.memory;
    replay::BeginKernelCase(kernels, memory);
    std::string target;
    Checked checked;
    for (const replay::CaseLaunch& launch : kernels.launches) {
      target = TargetOf(kernels.code[launch.code].text);
      CheckLaunch(code[launch.code], replay::RequestOf(kernels, launch, memory), checked);
    }
    Tell(name, outcome.kernels, target, checked, InterpreterOn(outcome, *named, spec));
  }
  return {};
}

// Numbers of no large size, or small integers.
std::vector<std::byte> Filled(const std::string& type, size_t count, uint32_t seed) {
  const size_t width = type == "f64" || type == "s64"                     ? 8
                       : type == "f32" || type == "s32"                   ? 4
                       : type == "f16" || type == "bf16" || type == "s16" ? 2
                                                                          : 1;
  std::vector<std::byte> bytes(width * count);
  uint32_t state = seed * 2654435761u + 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t drawn = state >> 8;
    const double real = (static_cast<double>(drawn) - 8388608.0) / 8388608.0;
    uint64_t value = 0;
    if (type == "f64") {
      std::memcpy(&value, &real, 8);
    } else if (type == "f32" || type == "bf16") {
      const auto single = static_cast<float>(real);
      uint32_t word = 0;
      std::memcpy(&word, &single, 4);
      value = type == "f32" ? word : word >> 16;
    } else if (type == "f16") {
      value = (drawn & 1) << 15 | (10 + (drawn >> 1) % 5) << 10 | (drawn >> 8 & 0x3ff);
    } else if (type == "f8") {
      value = (drawn & 1) << 7 | (drawn >> 1) % 0x40;
    } else {
      value = drawn % 8;
    }
    std::memcpy(bytes.data() + i * width, &value, width);
  }
  return bytes;
}

// Lines: `entry E`, `grid X Y Z`, `block X Y Z`, `shared BYTES`, and the parameters in order,
// `array TYPE COUNT` or `number BYTES VALUE`.
Status CheckText(const std::string& path) {
  const auto read = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string name = std::filesystem::path(path).stem().string();
  HLOSCOPE_ASSIGN_OR_RETURN(const ptx::Module module, ptx::Module::Parse(read(path), path));
  std::istringstream lines(read(path.substr(0, path.size() - 4) + ".case"));
  ptx::LaunchRequest request;
  std::vector<std::vector<std::byte>> memory;
  memory.reserve(64);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, type;
    words >> what;
    if (what == "entry") words >> request.entry;
    if (what == "grid") words >> request.grid[0] >> request.grid[1] >> request.grid[2];
    if (what == "block") words >> request.block[0] >> request.block[1] >> request.block[2];
    if (what == "shared") words >> request.dynamic_shared_bytes;
    if (what == "array") {
      size_t count = 0;
      words >> type >> count;
      memory.push_back(Filled(type, count, static_cast<uint32_t>(memory.size() + 1)));
      request.arguments.push_back({memory.back(), {}});
    } else if (what == "number") {
      size_t bytes = 0;
      int64_t value = 0;
      words >> bytes >> value;
      std::vector<std::byte> raw(bytes);
      std::memcpy(raw.data(), &value, std::min<size_t>(bytes, 8));
      request.arguments.push_back({{}, raw});
    }
  }
  Checked checked;
  CheckLaunch(module, request, checked);
  Tell(name, request.entry, TargetOf(module.text()), checked, "-");
  return {};
}

int Run(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--checked" && i + 1 < count) {
      most_checked = std::strtoull(arguments[++i], nullptr, 10);
      continue;
    }
    const Status done = argument.ends_with(".ptx") ? CheckText(argument) : CheckDump(argument);
    if (done.has_value()) continue;
    Tell(argument, "", "", {0, 0, 0, done.error().ToString()}, "-");
  }
  return all_agree ? 0 : 1;
}

}  // namespace
}  // namespace hloscope

int main(int count, char** arguments) { return hloscope::Run(count, arguments); }
