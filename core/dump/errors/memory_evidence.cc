// Out of memory: the account of the program and of the pool in the text decides what helps.
#include <fmt/format.h>

#include <algorithm>

#include "core/dump/errors/evidence.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxBuffers = 20, kMaxAccountLines = 400;
constexpr double kGiB = 1024.0 * 1024 * 1024;

// What one says where a program needs less memory.
std::string Shrink(FrontEnd front_end) {
  switch (front_end) {
    case FrontEnd::kJax:
      return "a smaller batch, donation of arguments (donate_argnums), rematerialisation "
             "(jax.checkpoint) or more shards";
    case FrontEnd::kTensorFlow:
    case FrontEnd::kKeras:
      return "a smaller batch, or tf.recompute_grad";
    default:
      return "a smaller batch, values recomputed instead of kept, or more shards";
  }
}

// How the share of the device that XLA's pool has is set.
std::string Pool(FrontEnd front_end) {
  switch (front_end) {
    case FrontEnd::kJax:
      return "XLA_PYTHON_CLIENT_MEM_FRACTION sets the share of the device that the pool has, and "
             "XLA_PYTHON_CLIENT_PREALLOCATE=false does not take it at once";
    case FrontEnd::kTensorFlow:
    case FrontEnd::kKeras:
      return "tf.config.experimental.set_memory_growth does not take the whole device at once";
    case FrontEnd::kElixir:
      return "memory_fraction and preallocate of the EXLA client set the share of the device that "
             "the pool has";
    default:
      return "the pool has a fixed share of the device, which the front end sets";
  }
}

// An allocator that does without the pool.
std::string_view Unpooled(FrontEnd front_end) {
  switch (front_end) {
    case FrontEnd::kJax:
      return "; XLA_PYTHON_CLIENT_ALLOCATOR=platform allocates without a pool (slower)";
    case FrontEnd::kTensorFlow:
    case FrontEnd::kKeras:
      return "; TF_GPU_ALLOCATOR=cuda_malloc_async allocates without this pool";
    default:
      return "";
  }
}

std::string Others(FrontEnd front_end) {
  return "see which other processes use the device (nvidia-smi, rocm-smi) and which arrays this "
         "process still holds (caches, results kept in lists); " +
         Pool(front_end);
}

// The value behind "Limit:" or "total allocation:" of a line; nullopt: it is another line.
std::optional<double> Value(std::string_view line, std::string_view name) {
  const size_t at = line.find(name);
  if (at == line.npos) return std::nullopt;
  std::string_view rest = Trim(line.substr(at + name.size()));
  return BytesOf(rest.substr(0, rest.find_first_of(" (")));
}

struct Account {
  std::optional<double> asked, program;          // of this allocation, of the whole program
  std::optional<double> limit, in_use, largest;  // of the pool, and its largest free block
  std::string label;                             // of the first buffer: its instruction
};

// The statistics that the pool writes: behind an allocator's own error, before the program's.
void ReadPool(const ErrorPlace& place, Account& account) {
  auto take = [&](size_t k) {
    if (!TrimStart(place.lines[k]).starts_with("Limit:")) return false;
    account.limit = Value(place.lines[k], "Limit:");
    for (size_t n = k + 1; n < std::min(place.lines.size(), k + 12); ++n) {
      if (TrimStart(place.lines[n]).starts_with("InUse:"))
        account.in_use = Value(place.lines[n], "InUse:");
      if (auto block = Value(place.lines[n], "LargestFreeBlock:")) account.largest = block;
    }
    return true;
  };
  const size_t end = std::min(place.lines.size(), place.at + kMaxAccountLines);
  for (size_t k = place.at; k-- > 0 && place.at - k < kMaxAccountLines;)
    if (take(k)) return;
  for (size_t k = place.at; k < end; ++k)
    if (take(k)) return;
}

// The list of buffers behind an error. XLA:GPU: "Buffer 1:", "Size: 4.00GiB", "Operator: …", "XLA
// Label: fusion", "Shape: f32[…]", of a parameter "Entry Parameter Subshape: f32[…]". XLA:TPU: "1.
// Size: 2.00G", "Shape: …", "Unpadded size: …", "XLA label: fusion.1 = fusion(…)".
void ReadBuffers(const ErrorPlace& place, ExplainedError& error, Account& account) {
  std::string size, operation, label, shape, padding, type;
  auto flush = [&] {
    if (!size.empty() && error.buffers.size() < kMaxBuffers) {
      if (error.buffers.empty()) account.label = label;
      std::string text = size;
      for (const std::string& part : {shape, label}) text += part.empty() ? "" : " " + part;
      if (!operation.empty()) text += " (" + operation + ")";
      if (!padding.empty()) text += ", padded from " + padding;
      if (!type.empty()) text += ", " + type;
      error.buffers.push_back(std::move(text));
    }
    for (std::string* part : {&size, &operation, &label, &shape, &padding, &type}) part->clear();
  };
  // Launchers of many processes write their own words before each line.
  auto take = [](std::string_view line, std::string_view mark, std::string& into) {
    const size_t at = line.find(mark);
    if (at == line.npos || (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t')) return false;
    into = line.substr(at + mark.size());
    return true;
  };
  const size_t end = std::min(place.lines.size(), place.at + kMaxAccountLines);
  for (size_t n = place.at + 1; n < end; ++n) {
    const std::string_view line = Trim(place.lines[n]);
    if (line.contains("Traceback (most")) break;
    if (auto total = Value(line, "total allocation:")) account.program = total;
    std::string next;
    if (take(line, "Size: ", next)) {
      flush();
      size = next;
    } else if (take(line, "Operator: ", operation) || take(line, "Shape: ", shape) ||
               take(line, "Entry Parameter Subshape: ", shape) ||
               take(line, "Allocation type: ", type)) {
      continue;
    } else if (take(line, "XLA Label: ", label) || take(line, "XLA label: ", label)) {
      label = label.substr(0, label.find(" = "));
    } else if (take(line, "Unpadded size: ", next) && next != size) {
      padding = next;
    }
  }
  flush();
}

// Of "Total hbm usage >= 65.05G:" and the lines below: what the program, its arguments and other
// arrays have.
std::string HbmShares(const ErrorPlace& place) {
  for (size_t k = 1; k < 12; ++k) {
    if (!place.Behind(k).starts_with("Total ")) continue;
    std::string shares;
    for (size_t n = k + 1; n < k + 6; ++n) {
      const std::string_view line = place.Behind(n);
      if (!line.starts_with("   ")) break;
      const size_t gap = Trim(line).find("  ");
      const std::string_view size = Trim(Trim(line).substr(std::min(gap, Trim(line).size())));
      const std::string_view name = Trim(line).substr(0, gap);
      if (name.starts_with("program") || name.starts_with("arguments") || name.starts_with("heap"))
        shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", name, size);
    }
    return shares.empty() ? shares : "; of these " + shares;
  }
  return {};
}

struct Space {
  std::string_view name, what, fix;
};
constexpr Space kSpaces[] = {
    {"vmem", "the vector memory of one TPU core, which a single kernel or fusion uses",
     "in a kernel that you wrote (Pallas): smaller blocks, fewer of them at once or smaller "
     "scratch_shapes; else it is a fault of XLA. What saves HBM does not help here"},
    {"smem", "the scalar memory of one TPU core, which holds indices and control values",
     "fewer or smaller scalar arguments of the kernel (scalar prefetch, SMEM scratch, block "
     "tables). What saves HBM does not help here"},
    {"sflag", "the memory for semaphores of one TPU core",
     "fewer semaphores, or fewer DMAs and collectives in flight at once. What saves HBM does not "
     "help here"},
    {"cmem", "a memory on the chip of TPU v4, in addition to HBM",
     "XLA places values there: report it. What saves HBM does not help here"},
    {"0", "Smem, the scalar memory of a SparseCore",
     "in a kernel that you wrote: less SMEM scratch; else XLA places values there: report it"},
    {"201", "TileSpmem, the memory of one tile of a SparseCore",
     "in a kernel that you wrote: smaller scratch; else XLA places values there: report it"},
    {"202", "Spmem, the memory that the tiles of a SparseCore share",
     "in a kernel that you wrote: smaller scratch; else XLA places values there: report it"},
    {"203", "HBM",
     "more shards of the embedding tables, and limits of ids (max_ids_per_partition) as low as the "
     "data allows"},
    {"204", "the semaphores of a SparseCore", "XLA places them: report it"},
    {"", "shared memory is what the threads of one block have together",
     "in a kernel that you wrote (Pallas, Triton): smaller blocks or fewer stages; else XLA chose "
     "a "
     "tile that is too large: report it. What saves the device's memory does not help"},
};

}  // namespace

Evidence ReadMemory(const ErrorPlace& place, ExplainedError& error) {
  Account account;
  const bool by_bytes = !place["number"].empty();
  account.asked = BytesOf(place[by_bytes ? "number" : "bytes"]);
  if (by_bytes && account.asked)
    place.captures["human"] = fmt::format(" ({})", SizeText(*account.asked));
  Evidence found;
  if (account.asked) found.key = SizeText(*account.asked);
  const bool has_account = place.Behind(1).contains("BufferAssignment");
  found.is_repeat = !found.key.empty() && place.told.contains(found.key) && !has_account;
  if (found.is_repeat) return found;
  ReadBuffers(place, error, account);
  if (account.asked || account.program) ReadPool(place, account);
  const FrontEnd front_end = FrontEndOf(place.lines, place.at);
  found.more = HbmShares(place);
  const bool on_host = place["device"].contains("CPU") || place["allocator"].contains("cpu") ||
                       place.line().contains("Out of memory allocating");
  place.captures["arrays"] =
      "arrays that the program still holds have the rest: delete those that "
      "are not needed, and donate arguments; else " +
      Shrink(front_end);
  place.captures["shrink"] = Shrink(front_end);
  place.captures["device.advice"] = Others(front_end) + "; else " + Shrink(front_end);

  if (account.program)
    found.more += fmt::format("; the program needs {} in all", SizeText(*account.program));
  const double needed = account.program.value_or(account.asked.value_or(0));
  std::string advice;
  if (account.limit && account.in_use && *account.limit > 0) {
    const double rest = std::max(0.0, *account.limit - *account.in_use);
    found.more += fmt::format("; the pool of {} has {} in use", SizeText(*account.limit),
                              SizeText(*account.in_use));
    const bool has_room = account.asked && rest >= *account.asked;
    if (has_room) found.more += fmt::format(" and {} free", SizeText(rest));
    if (has_room && account.largest.value_or(0) > 0)
      found.more += fmt::format(" in blocks of at most {}", SizeText(*account.largest));
    if (needed > *account.limit / 2) {
      advice = Shrink(front_end) + ": the program itself needs most of the pool";
    } else if (has_room && *account.in_use < *account.limit * 3 / 4) {
      advice = "the free memory is in fragments: allocate large arrays first and keep them" +
               std::string(Unpooled(front_end));
    } else {
      found.more += ", so something else holds the memory";
      advice = Others(front_end);
    }
  } else if (on_host) {
    found.more += "; it is the memory of the host";
    advice = Shrink(front_end) + ", or a host with more memory";
  } else if (account.program && *account.program < kGiB) {
    found.more += ", so something else holds the memory";
    advice = Others(front_end);
  } else if (account.program && *account.program >= 4 * kGiB) {
    advice = Shrink(front_end) + "; the buffers below are the largest at the peak";
  } else if (!place["space"].empty() || !place["used"].empty()) {
    advice =
        Shrink(front_end) + (error.buffers.empty() ? "" : "; the buffers below are the largest");
  } else {
    advice = fmt::format("where the program is large: {}; where it is small: {}", Shrink(front_end),
                         Others(front_end));
  }
  place.captures["advice"] = std::move(advice);
  return found;
}

// "Memory usage: 433717248 bytes free, 25351290880 bytes total." beside what does not start.
Evidence ReadPoolMemory(const ErrorPlace& place, ExplainedError&) {
  constexpr std::string_view kUsage = "Memory usage: ";
  place.captures["pool"] = Pool(FrontEndOf(place.lines, place.at));
  place.captures["full"] = "; often the GPU's memory is full";
  for (size_t k = 0; k < 4; ++k) {
    std::string_view line = place.Behind(k);
    if (!line.contains(kUsage)) continue;
    line.remove_prefix(line.find(kUsage) + kUsage.size());
    const auto free = BytesOf(line.substr(0, line.find(' ')));
    const size_t comma = line.find(", ");
    if (!free || comma == line.npos) break;
    line.remove_prefix(comma + 2);
    if (const auto total = BytesOf(line.substr(0, line.find(' '))))
      place.captures["full"] =
          fmt::format("; of the GPU's memory {} of {} are free", SizeText(*free), SizeText(*total));
    break;
  }
  return {"first", {}, true};
}

Evidence ReadKernelMemory(const ErrorPlace& place, ExplainedError& error) {
  Account account;
  ReadBuffers(place, error, account);
  const std::string_view name = place["space"].empty() ? place["number"] : place["space"];
  const Space* space = std::ranges::find(kSpaces, name, &Space::name);
  if (space == std::end(kSpaces)) space = std::end(kSpaces) - 1;
  Evidence found;
  // The label of the largest buffer is the instruction that asks for it.
  if (error.node.empty() && account.label.contains('.')) {
    error.node = account.label;
    found.more = "; the largest piece is of " + error.node;
  }
  if (!space->name.empty()) found.more += fmt::format("; {} is {}", name, space->what);
  place.captures["space.fix"] = space->fix;
  for (const char* size : {"bytes", "limit"}) {
    const auto at = place.captures.find(size);
    if (at == place.captures.end() || space->name.empty() || !place["words"].empty()) continue;
    if (auto bytes = BytesOf(at->second)) at->second = SizeText(*bytes);
  }
  if (space->name.empty() && !place["space"].empty())
    place.captures["space.fix"] = "see what asks for it; what saves HBM does not help here";
  return found;
}

}  // namespace hloscope::dump
