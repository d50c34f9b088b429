// TileAssignments rearranged, symbolically where their iota allows it.
#include "core/hlo/tile_assignment.h"

#include <algorithm>
#include <numeric>

#include "core/base/checked.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kMaxMaterialized = 1 << 20;
constexpr int64_t kMaxFactored = int64_t{1} << 40;  // found by trial division in a moment

std::vector<int64_t> FullTranspose(const IotaTile& iota) {
  if (!iota.transpose.empty()) return iota.transpose;
  std::vector<int64_t> identity(iota.reshape_dims.size());
  std::iota(identity.begin(), identity.end(), 0);
  return identity;
}

// The elements of a row-major array with its dimensions permuted.
template <typename At>
std::vector<int64_t> TransposeArray(std::span<const int64_t> dimensions,
                                    std::span<const int64_t> permutation, size_t count, At at) {
  const size_t rank = dimensions.size();
  std::vector<size_t> strides(rank, 1);
  for (size_t d = rank; d-- > 1;) {
    strides[d - 1] = strides[d] * static_cast<size_t>(dimensions[d]);
  }
  std::vector<int64_t> index(rank, 0);
  std::vector<int64_t> result;
  result.reserve(count);
  size_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(at(offset));
    for (size_t d = rank; d-- > 0;) {
      const auto source = static_cast<size_t>(permutation[d]);
      offset += strides[source];
      if (++index[d] < dimensions[source]) break;
      offset -= strides[source] * static_cast<size_t>(dimensions[source]);
      index[d] = 0;
    }
  }
  return result;
}

// The prime factors of an iota's dimensions, in the order of its transposed dimensions.
struct Factors {
  std::vector<int64_t> sizes;   // of the iota, major to minor
  std::vector<int64_t> order;   // indices into `sizes` after the transpose
  std::vector<int64_t> source;  // the iota dimension that order[i] comes from
};

void AppendPrimeFactors(std::vector<int64_t>& factors, int64_t number) {
  for (int64_t p = 2; p * p <= number; p += p == 2 ? 1 : 2) {
    for (; number % p == 0; number /= p) factors.push_back(p);
  }
  if (number > 1) factors.push_back(number);
}

Factors Factor(const IotaTile& iota) {
  Factors factors;
  std::vector<size_t> begins;
  for (int64_t size : iota.reshape_dims) {
    begins.push_back(factors.sizes.size());
    AppendPrimeFactors(factors.sizes, size);
  }
  begins.push_back(factors.sizes.size());
  for (int64_t d : FullTranspose(iota)) {
    const auto dimension = static_cast<size_t>(d);
    for (size_t i = begins[dimension]; i < begins[dimension + 1]; ++i) {
      factors.order.push_back(static_cast<int64_t>(i));
      factors.source.push_back(d);
    }
  }
  return factors;
}

// Makes the factor at `position` one that divides `target`, exchanging it for a later one of the
// same iota dimension if need be.
bool TakeDivisor(Factors& factors, size_t position, int64_t target) {
  int64_t& size = factors.sizes[static_cast<size_t>(factors.order[position])];
  for (size_t p = position; p < factors.order.size(); ++p) {
    if (factors.source[p] != factors.source[position]) break;
    int64_t& candidate = factors.sizes[static_cast<size_t>(factors.order[p])];
    if (target % candidate != 0) continue;
    std::swap(size, candidate);
    return true;
  }
  return false;
}

// Splits the factors into consecutive groups whose products are `sizes`; nullopt if they do not
// split so.
std::optional<std::vector<std::vector<int64_t>>> Group(Factors& factors,
                                                       std::span<const int64_t> sizes) {
  std::vector<std::vector<int64_t>> groups;
  size_t position = 0;
  for (int64_t target : sizes) {
    std::vector<int64_t>& group = groups.emplace_back();
    while (position < factors.order.size() && TakeDivisor(factors, position, target)) {
      const int64_t factor = factors.order[position++];
      target /= factors.sizes[static_cast<size_t>(factor)];
      group.push_back(factor);
    }
    if (target != 1) return std::nullopt;
  }
  return groups;
}

std::optional<IotaTile> TransposeIota(const TileAssignment& tiles,
                                      std::span<const int64_t> permutation) {
  auto size = [&](int64_t d) { return tiles.dimensions[static_cast<size_t>(d)]; };
  std::vector<int64_t> moved;  // the permutation without dimensions of size 1
  for (int64_t d : permutation) {
    if (size(d) != 1) moved.push_back(d);
  }
  if (std::ranges::is_sorted(moved)) return tiles.iota;
  std::vector<int64_t> sizes;
  std::vector<size_t> group_of(tiles.dimensions.size(), 0);
  for (size_t d = 0; d < tiles.dimensions.size(); ++d) {
    if (tiles.dimensions[d] == 1) continue;
    group_of[d] = sizes.size();
    sizes.push_back(tiles.dimensions[d]);
  }
  Factors factors = Factor(*tiles.iota);
  std::optional<std::vector<std::vector<int64_t>>> groups = Group(factors, sizes);
  if (!groups) return std::nullopt;
  IotaTile result;
  for (int64_t d : moved) {
    const std::vector<int64_t>& group = (*groups)[group_of[static_cast<size_t>(d)]];
    result.transpose.insert(result.transpose.end(), group.begin(), group.end());
  }
  result.reshape_dims = std::move(factors.sizes);
  Canonicalize(result);
  return result;
}

// The iota whose groups of `size` along its minor end are sorted; nullopt if no iota is.
std::optional<IotaTile> SortMinor(const IotaTile& iota, int64_t size) {
  IotaTile result{iota.reshape_dims, FullTranspose(iota)};
  size_t grouped = 0;
  for (size_t i = result.transpose.size(); size > 1 && i-- > 0; ++grouped) {
    const auto dimension = static_cast<size_t>(result.transpose[i]);
    const int64_t extent = result.reshape_dims[dimension];
    if (extent <= size) {
      if (size % extent != 0) return std::nullopt;
      size /= extent;
      continue;
    }
    if (extent % size != 0) return std::nullopt;
    // Split the dimension: its minor part belongs to the group.
    result.reshape_dims[dimension] = extent / size;
    result.reshape_dims.insert(result.reshape_dims.begin() + static_cast<int64_t>(dimension) + 1,
                               size);
    for (int64_t& d : result.transpose) {
      if (d > static_cast<int64_t>(dimension)) ++d;
    }
    result.transpose.insert(result.transpose.begin() + static_cast<int64_t>(i) + 1,
                            static_cast<int64_t>(dimension) + 1);
    size = 1;
  }
  std::sort(result.transpose.end() - static_cast<int64_t>(grouped), result.transpose.end());
  Canonicalize(result);
  return result;
}

}  // namespace

std::optional<int64_t> DeviceCount(const TileAssignment& tiles) {
  return CheckedProduct(tiles.dimensions);
}

std::optional<int64_t> DeviceCount(const Mesh& mesh) {
  if (mesh.maximal) return 1;
  std::vector<int64_t> sizes;
  sizes.reserve(mesh.axes.size());
  for (const auto& [name, size] : mesh.axes) {
    if (size < 1) return std::nullopt;
    sizes.push_back(size);
  }
  return CheckedProduct(sizes);
}

void Canonicalize(IotaTile& iota) {
  std::vector<int64_t> sizes;
  std::vector<int64_t> order;
  for (int64_t d : FullTranspose(iota)) {
    if (iota.reshape_dims[static_cast<size_t>(d)] != 1) order.push_back(d);
  }
  // Number the dimensions that are left.
  std::vector<int64_t> number(iota.reshape_dims.size(), -1);
  for (size_t d = 0; d < iota.reshape_dims.size(); ++d) {
    if (iota.reshape_dims[d] == 1) continue;
    number[d] = static_cast<int64_t>(sizes.size());
    sizes.push_back(iota.reshape_dims[d]);
  }
  for (int64_t& d : order) d = number[static_cast<size_t>(d)];
  // Merge runs that keep their order into their first dimension.
  std::vector<int64_t> heads;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i != 0 && order[i] == order[i - 1] + 1) {
      sizes[static_cast<size_t>(heads.back())] *= sizes[static_cast<size_t>(order[i])];
    } else {
      heads.push_back(order[i]);
    }
  }
  std::vector<int64_t> sorted = heads;
  std::ranges::sort(sorted);
  iota.reshape_dims.clear();
  iota.transpose.clear();
  for (int64_t head : sorted) iota.reshape_dims.push_back(sizes[static_cast<size_t>(head)]);
  if (iota.reshape_dims.empty()) iota.reshape_dims.push_back(1);
  if (heads.size() < 2) return;
  for (int64_t head : heads) {
    iota.transpose.push_back(std::ranges::lower_bound(sorted, head) - sorted.begin());
  }
}

std::optional<std::vector<int64_t>> Materialize(const TileAssignment& tiles) {
  std::optional<int64_t> count = DeviceCount(tiles);
  if (!count || *count > kMaxMaterialized) return std::nullopt;
  if (!tiles.iota) return tiles.devices;
  return TransposeArray(tiles.iota->reshape_dims, FullTranspose(*tiles.iota),
                        static_cast<size_t>(*count),
                        [](size_t i) { return static_cast<int64_t>(i); });
}

std::optional<TileAssignment> Transpose(const TileAssignment& tiles,
                                        std::span<const int64_t> permutation,
                                        std::vector<int64_t> new_dimensions) {
  std::optional<int64_t> count = DeviceCount(tiles);
  TileAssignment result;
  result.dimensions = std::move(new_dimensions);
  if (tiles.iota && count && *count <= kMaxFactored) {
    result.iota = TransposeIota(tiles, permutation);
    if (result.iota) return result;
  }
  std::optional<std::vector<int64_t>> devices = Materialize(tiles);
  if (!devices) return std::nullopt;
  result.devices = TransposeArray(tiles.dimensions, permutation, devices->size(),
                                  [&](size_t i) { return (*devices)[i]; });
  return result;
}

std::optional<TileAssignment> SortGroups(const TileAssignment& tiles) {
  const int64_t size = tiles.dimensions.back();
  TileAssignment result = tiles;
  if (tiles.iota) {
    result.iota = SortMinor(*tiles.iota, size);
    if (result.iota) return result;
  }
  std::optional<std::vector<int64_t>> devices = Materialize(tiles);
  if (!devices) return std::nullopt;
  for (size_t i = 0; i < devices->size(); i += static_cast<size_t>(size)) {
    auto begin = devices->begin() + static_cast<int64_t>(i);
    std::sort(begin, begin + size);
  }
  result.devices = *std::move(devices);
  return result;
}

}  // namespace hloscope::hlo
