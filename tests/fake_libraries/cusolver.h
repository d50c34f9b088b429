// What the parts of the made-up cuSOLVER share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

namespace fake_cusolver {

constexpr int kNotInitialized = 1, kInvalidValue = 3, kExecutionFailed = 6;
constexpr size_t kWork = 2048, kHostWork = 64;

struct Solver {
  void* stream = nullptr;
};
fake_libraries::Handles& All();

// Matrices on the device as numbers, and back; empty where so many bytes do not lie there.
std::vector<fake_libraries::Number> ReadAll(int type, const void* at, int64_t count);
bool WriteAll(int type, const std::vector<fake_libraries::Number>& numbers, void* at);

// Puts `run` on the solver's stream; work and info have to lie on the device.
int Submit(void* solver, void* work, size_t bytes, int* info, const std::function<int()>& run);

}  // namespace fake_cusolver
