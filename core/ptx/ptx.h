// PTX kernels run on the CPU as a GPU would run them: parse a module, launch an entry on spans of
// host memory.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ptx/checks/findings.h"
#include "core/ptx/tensor/tensor_map.h"
#include "core/ptx/text/parser.h"

namespace hloscope::ptx {

class Observer;
class StepChanger;

struct EntryParameter {
  std::string name;
  uint64_t bytes = 0;
  bool is_pointer = false;     // written .ptr
  uint32_t pointer_align = 0;  // bytes; 0 where it is not said
};

struct EntryInfo {
  std::string name;
  uint32_t line = 0;
  std::vector<EntryParameter> parameters;
  std::array<uint32_t, 3> required_threads{};  // .reqntid; zeros where it is not said
  std::array<uint32_t, 3> required_cluster{};  // .reqnctapercluster; the same
  uint64_t static_shared_bytes = 0;
  uint64_t instructions = 0;
  std::vector<Error> unsupported;  // each instruction that is not executed, with its place; empty
                                   // where the entry can run
};

class Module {
 public:
  // Reads and decodes `text`. Errors (class input) carry file:line:column; what is sound but not
  // executed is not an error but in EntryInfo::unsupported.
  static Result<Module> Parse(std::string text, std::string file, const TextLimits& limits = {});

  const std::vector<EntryInfo>& entries() const;
  const std::string& target() const;  // as the module says: "sm_90a"
  const std::string& file() const;
  const std::string& text() const;

  // The decoded kernels, for the folders of this room.
  struct Contents;
  const Contents& contents() const { return *contents_; }

 private:
  std::shared_ptr<const Contents> contents_;
};

// What a parameter of an entry is given: memory that the kernel may read and write (a pointer),
// plain bytes, or a tensor map of memory.
struct Argument {
  std::span<std::byte> memory;                  // what a pointer points to
  std::optional<std::vector<std::byte>> value;  // instead of a pointer: the bytes of the parameter
  std::optional<TensorMap> map = {};            // of `memory`, where the parameter is a tensor map
};

struct LaunchRequest {
  std::string entry;
  std::array<uint32_t, 3> grid{1, 1, 1};   // blocks
  std::array<uint32_t, 3> block{1, 1, 1};  // threads
  uint64_t dynamic_shared_bytes = 0;
  std::vector<Argument> arguments;
  uint32_t target =
      0;  // sm number whose tensor cores are followed, such as 90; 0: that of the module
  std::array<uint32_t, 3> cluster = {};  // blocks; zeros: as .reqnctapercluster says, or one
  uint64_t devices = 1;                  // that run the kernel together
};

class ShadowMemory;

// What is looked for while blocks run; accesses beyond memory always are. Where something is found,
// it is what is found when blocks run in index order on one thread.
struct CheckOptions {
  bool race = false;           // accesses that nothing orders, in shared memory and in arguments
  bool uninitialised = false;  // bytes that nobody wrote
  // What was done to the memory of the arguments before (checks/shadow_memory.h); null: it counts
  // as written, and no races in it are looked for.
  ShadowMemory* memory = nullptr;

  bool any() const { return race || uninitialised; }
};

// How often a line of the PTX was executed: by warps, and by lanes that were active.
struct LineCount {
  uint32_t line = 0;
  uint64_t warps = 0, lanes = 0;
};

struct LaunchOptions {
  int threads = 1;                     // host threads; results do not depend on it
  uint64_t steps = uint64_t{1} << 40;  // instructions of warps, over all blocks of a launch
  uint64_t memory_bytes = uint64_t{4}
                          << 30;  // registers, shared and local memory of the blocks in flight
  uint64_t shared_bytes = 0;      // of one block; 0: what the target has
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::stop_token stop;
  std::optional<std::array<uint32_t, 3>> only_block;  // runs this one block alone
  // Is told of everything that blocks do (machine/observer.h); they then run in index order on one
  // thread.
  Observer* observer = nullptr;
  // Gives other steps than the usual ones (machine/step_changer.h).
  const StepChanger* changer = nullptr;
  bool count_traffic =
      false;  // the counters of Counters that say so; takes up to three times as long
  bool count_lines = false;  // LaunchResult::lines
  CheckOptions checks;
  // Runs blocks, the warps of a block and the lanes of an atomic in an order made of this seed.
  // Blocks that wait for one another keep theirs.
  std::optional<uint64_t> shuffle;
};

struct Fault {
  std::string what;
  std::string kernel;
  Place place;       // in the PTX
  std::string form;  // of the instruction, as written
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};
  std::optional<uint64_t> address;
  std::optional<uint32_t> argument;  // whose window the address names
  std::string ToString() const;
};

// Executed instructions of threads (lanes that were active), by what they do.
struct Counters {
  uint64_t arithmetic = 0, bitwise = 0, move = 0, compare = 0, convert = 0, function = 0,
           memory = 0, control = 0, warp = 0, tensor = 0;
  uint64_t warp_instructions = 0;  // of warps, whatever their masks
  uint64_t global_loads = 0;  // of them those that wait for global memory, copies of cp.async too
  uint64_t global_read_bytes = 0, global_written_bytes = 0;
  uint64_t shared_read_bytes = 0, shared_written_bytes = 0;
  uint64_t local_bytes = 0;
  uint64_t padding_bytes =
      0;  // read beyond the end of an argument, within its padding to 256 bytes: poison (0xff)
  // Sums, products, quotients, roots and functions of floats: an fma is two, packed types count
  // each half.
  uint64_t float_operations = 0, double_operations = 0;
  // Multiply-adds of tensor cores, by what they multiply.
  uint64_t products_f64 = 0, products_tf32 = 0, products_16bit = 0, products_8bit = 0,
           products_4bit = 0;
  // Only with LaunchOptions::count_traffic. Sectors of 32 bytes that accesses of warps to global
  // memory touch, each once an access; how many more turns than needed shared memory takes because
  // lanes want different words of one bank; and of every argument the bytes read and written, but
  // no more than it has: what goes to memory at least.
  uint64_t global_read_sectors = 0, global_written_sectors = 0;
  uint64_t shared_read_conflicts = 0, shared_written_conflicts = 0;
  uint64_t touched_bytes = 0;
  uint64_t threads() const {
    return arithmetic + bitwise + move + compare + convert + function + memory + control + warp +
           tensor;
  }
};

struct LaunchResult {
  Counters counters;
  std::optional<Fault> fault;  // of the first block in index order that has one; memory then holds
                               // what was written before
  std::vector<Finding> findings;  // of LaunchOptions::checks
  std::vector<LineCount> lines;   // that were executed, ascending; of LaunchOptions::count_lines
};

// The sm number of a target as modules name it ("sm_90a"); 0: it has none.
uint32_t SmOf(std::string_view target);
// How much shared memory a block may have on sm_`sm` (CUDA C++ Programming Guide, compute
// capabilities); of one that is not known what an H100 has.
uint64_t MostSharedBytes(uint32_t sm);

// Runs an entry. Errors: input for a request that does not fit the entry, unsupported for an
// instruction that is not executed, kDeadlineExceeded for a deadline or more steps than allowed,
// kCancelled for a stop.
Result<LaunchResult> Launch(const Module& module, const LaunchRequest& request,
                            const LaunchOptions& options = {});

// The last store of a launch to one byte.
struct Writer {
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};
  Place place;          // of the instruction in the PTX
  std::string form;     // as written
  uint32_t pc = 0;      // its index among the instructions of the entry
  uint64_t stores = 0;  // to this byte, of all threads
};

// Runs an entry and answers who stored byte `byte` of argument `argument`, also through another
// argument that holds the same memory; nullopt: nobody. Arguments are written as by Launch. Errors:
// those of Launch, input for a byte outside of the argument, kCrashed where the kernel has a fault.
// It is an observer of its own: that of the options is not told.
Result<std::optional<Writer>> FindWriter(const Module& module, const LaunchRequest& request,
                                         uint32_t argument, uint64_t byte,
                                         const LaunchOptions& options = {});

struct StoringThread {
  std::array<uint32_t, 3> block{}, thread{};
};

// Of a byte that nobody stores: the thread that stores nearest to it in that argument, or would if
// its guard let it; the first of the launch where none stores there. Errors: those of Launch.
Result<StoringThread> FindNearestStore(const Module& module, const LaunchRequest& request,
                                       uint32_t argument, uint64_t byte,
                                       const LaunchOptions& options = {});

}  // namespace hloscope::ptx
