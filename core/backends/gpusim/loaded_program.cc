// Decoding code, and the arguments of kernels by how many they take.
#include "core/backends/gpusim/loaded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/backends/gpusim/tensor_maps.h"
#include "core/base/counted.h"

namespace hloscope::replay {
namespace {

std::vector<Slice> EachOnce(const std::vector<Slice>& slices) {
  std::vector<Slice> out;
  for (const Slice& slice : slices) {
    if (std::ranges::find(out, slice) == out.end()) out.push_back(slice);
  }
  return out;
}

const ptx::EntryInfo* FindEntry(const ptx::Module& module, const std::string& name) {
  const auto& entries = module.entries();
  const auto found = std::ranges::find(entries, name, &ptx::EntryInfo::name);
  return found == entries.end() ? nullptr : &*found;
}

// All that a block may have: XLA before 2026 does not write how much a launch asks for.
int64_t SharedBytes(bool takes_more, const ptx::Module& code, const ptx::EntryInfo& entry) {
  if (!takes_more) return 0;
  const uint64_t most = ptx::MostSharedBytes(ptx::SmOf(code.target()));
  return static_cast<int64_t>(most - std::min(most, entry.static_shared_bytes));
}

Status CheckEntry(const ptx::EntryInfo& entry) {
  if (!entry.unsupported.empty()) return std::unexpected(entry.unsupported.front());
  for (const ptx::EntryParameter& parameter : entry.parameters) {
    if (parameter.bytes == sizeof(uint64_t) || parameter.bytes == ptx::kTensorMapBytes) continue;
    return UnsupportedError(
        fmt::format("kernel {} takes {}, {} that are not an array of its instruction: what XLA's "
                    "runtime passes there is in no dump",
                    entry.name, parameter.name, Counted(parameter.bytes, "byte")),
        "--fallback cpu has the evaluator compute the instruction");
  }
  return {};
}

// The tensor maps of a kernel, by parameter; empty where it takes none.
Result<std::vector<std::optional<ptx::TensorMap>>> MapsOf(const DeviceProgram& program,
                                                          const ptx::EntryInfo& entry) {
  std::vector<std::optional<ptx::TensorMap>> maps;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    if (entry.parameters[i].bytes != ptx::kTensorMapBytes) continue;
    const auto tiles = program.tiles.find(entry.name);
    if (tiles == program.tiles.end() || tiles->second.arguments.size() != entry.parameters.size()) {
      return UnsupportedError(fmt::format("kernel {} takes tensor maps, which follow from its "
                                          "Triton IR, and the dump has none that matches",
                                          entry.name),
                              "dump again with --xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$");
    }
    maps.resize(entry.parameters.size());
    HLOSCOPE_ASSIGN_OR_RETURN(maps[i], TensorMapOf(tiles->second, i));
  }
  return maps;
}

}  // namespace

Result<LoadedProgram> LoadProgram(DeviceProgram program, hlo::Shape result_shape) {
  if (result_shape.LeafCount() != program.results.size()) {
    return InputError("the kernels are of a module with other results",
                      "keep the files of one compilation together");
  }
  LoadedProgram loaded{std::move(program), {}, std::move(result_shape)};
  loaded.device = profiler::FactsFromTarget(loaded.program.target_config);
  std::vector<bool> takes_more;  // shared memory than it declares, by code
  for (DeviceCode& code : loaded.program.code) {
    takes_more.push_back(code.text.find(".extern .shared") != std::string::npos);
    HLOSCOPE_ASSIGN_OR_RETURN(ptx::Module module,
                              ptx::Module::Parse(std::move(code.text), code.file));
    loaded.code.push_back(std::move(module));
  }
  for (auto& sequence : loaded.program.sequences) {
    for (DeviceStep& step : sequence) {
      for (KernelLaunch& launch : step.launches) {
        const ptx::EntryInfo* const entry =
            FindEntry(loaded.code[static_cast<size_t>(launch.code)], launch.kernel);
        if (entry == nullptr) return InternalError("a kernel is not in its file");
        HLOSCOPE_TRY(CheckEntry(*entry));
        if (launch.shared_bytes < 0) {
          launch.shared_bytes = SharedBytes(takes_more[static_cast<size_t>(launch.code)],
                                            loaded.code[static_cast<size_t>(launch.code)], *entry);
        }
        auto arguments = ArgumentsOf(step, entry->parameters.size());
        if (!arguments) {
          arguments.error().message.insert(0, fmt::format("kernel {}: ", launch.kernel));
          return std::unexpected(std::move(arguments).error());
        }
        launch.arguments = *std::move(arguments);
        HLOSCOPE_ASSIGN_OR_RETURN(auto maps, MapsOf(loaded.program, *entry));
        if (!maps.empty()) loaded.maps.emplace(launch.kernel, std::move(maps));
      }
    }
  }
  return loaded;
}

Result<std::vector<Slice>> ArgumentsOf(const DeviceStep& step, size_t count) {
  std::vector<Slice> all = step.operands;
  all.insert(all.end(), step.results.begin(), step.results.end());
  if (all.size() == count) return all;
  if (std::vector<Slice> once = EachOnce(all); once.size() == count) return once;
  if (step.results.size() == count) return step.results;
  return InputError(
      fmt::format("it takes {}, its instruction has {}", Counted(count, "argument"),
                  Counted(all.size(), "array")),
      "keep the files of one compilation together: code and module are not of the same one");
}

}  // namespace hloscope::replay
