// Reading CUDA_FAKE: NAME=VALUE,NAME:N=VALUE,NAME:N+=VALUE,NAME%N=VALUE.
#include "tests/fake_cuda/faults.h"

#include <stdlib.h>

namespace fake_cuda {

Faults Faults::FromEnvironment(const char* variable) {
  Faults out;
  const char* const given = getenv(variable);
  std::string_view rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    std::string item(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    Row row;
    row.value = strtoll(item.c_str() + equals + 1, nullptr, 10);
    item.resize(equals);
    if (const size_t at = item.find_first_of(":%"); at != std::string::npos) {
      const uint64_t number = strtoull(item.c_str() + at + 1, nullptr, 10);
      if (item[at] == '%') {
        row.every = number;
      } else {
        row.first = number;
        if (!item.ends_with('+')) row.last = number;
      }
      item.resize(at);
    }
    row.name = item;
    out.rows_.push_back(row);
  }
  return out;
}

int Faults::Next(std::string_view function) {
  const auto known = calls_.find(function);
  uint64_t& count = known == calls_.end() ? calls_[std::string(function)] : known->second;
  ++count;
  for (const Row& row : rows_) {
    const bool now = count >= row.first && count <= row.last && count % row.every == 0;
    if (row.name == function && now) return static_cast<int>(row.value);
  }
  return 0;
}

int64_t Faults::Property(std::string_view name, int64_t otherwise) const {
  for (const Row& row : rows_) {
    if (row.name == name) return row.value;
  }
  return otherwise;
}

}  // namespace fake_cuda
