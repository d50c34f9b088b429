#include "core/ptx/machine/run_counts.h"

namespace hloscope::ptx {
namespace {

void AddTo(std::vector<uint64_t>& sums, size_t at, uint64_t bytes) {
  if (at >= sums.size()) sums.resize(at + 1);
  sums[at] += bytes;
}

}  // namespace

void Traffic::AddSectors(AccessMode mode, uint64_t sectors) {
  if (mode != AccessMode::kWrite) global_read_sectors += sectors;
  if (mode != AccessMode::kRead) global_written_sectors += sectors;
}

void Traffic::AddBytes(AccessMode mode, uint64_t address, uint64_t bytes) {
  const uint64_t window = address >> kWindowShift;
  if (window < kFirstArgumentWindow || window >= kFirstVariableWindow) return;
  if (mode != AccessMode::kWrite) AddTo(read_bytes, window - kFirstArgumentWindow, bytes);
  if (mode != AccessMode::kRead) AddTo(written_bytes, window - kFirstArgumentWindow, bytes);
}

void Traffic::Add(const Traffic& other) {
  global_read_sectors += other.global_read_sectors;
  global_written_sectors += other.global_written_sectors;
  shared_read_conflicts += other.shared_read_conflicts;
  shared_written_conflicts += other.shared_written_conflicts;
  for (size_t i = 0; i < other.read_bytes.size(); ++i) AddTo(read_bytes, i, other.read_bytes[i]);
  for (size_t i = 0; i < other.written_bytes.size(); ++i)
    AddTo(written_bytes, i, other.written_bytes[i]);
}

void RunCounts::Add(const RunCounts& other) {
  products_tf32 += other.products_tf32;
  products_16bit += other.products_16bit;
  products_8bit += other.products_8bit;
  products_4bit += other.products_4bit;
  global_read_bytes += other.global_read_bytes;
  global_written_bytes += other.global_written_bytes;
  shared_read_bytes += other.shared_read_bytes;
  shared_written_bytes += other.shared_written_bytes;
  local_bytes += other.local_bytes;
  traffic.Add(other.traffic);
}

}  // namespace hloscope::ptx
