// Memory of the second implementation: what the machine had when the block began, in bytes of its
// own.
#pragma once

#include <map>
#include <vector>

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

class ScalarReferenceMemory {
 public:
  explicit ScalarReferenceMemory(const Block& block);

  // False: no window, or beyond its end. Reads between an argument's end and its padding give 0xff.
  bool Read(uint32_t thread, StateSpace space, uint64_t address, uint32_t bytes, void* into) const;
  bool Write(uint32_t thread, StateSpace space, uint64_t address, uint32_t bytes, const void* from);

  // The window and offset of a byte of an argument or variable that differs from the machine's now.
  std::optional<std::pair<uint64_t, uint64_t>> Difference() const;

 private:
  struct Found {
    std::vector<std::byte>* bytes = nullptr;
    uint64_t offset = 0;            // in `bytes`
    uint64_t held = 0, padded = 0;  // from there on
    bool writable = false;
  };
  Found Find(uint32_t thread, StateSpace space, uint64_t address) const;
  const Window* WindowOf(uint64_t window) const;
  void Cover(const Window& window);

  LaunchMemory memory_;  // windows; their bytes are the machine's, those of arguments the caller's
  // By where they lie in the machine's memory: arguments may share bytes.
  mutable std::map<const std::byte*, std::vector<std::byte>> images_;
  mutable std::vector<std::byte> shared_;
  mutable std::vector<std::vector<std::byte>> local_;  // by thread
};

}  // namespace hloscope::ptx
