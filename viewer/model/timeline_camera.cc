#include "viewer/model/timeline_camera.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hloscope::viewer {
namespace {

struct Unit {
  double picoseconds;
  const char* text;
};
constexpr std::array<Unit, 5> kUnits = {
    {{1, "ps"}, {1e3, "ns"}, {1e6, "µs"}, {1e9, "ms"}, {1e12, "s"}}};

// The largest unit of which `time` is at least one.
const Unit& UnitFor(double time) {
  const Unit* best = kUnits.data();
  for (const Unit& unit : kUnits) {
    if (std::abs(time) >= unit.picoseconds * 0.9995) best = &unit;
  }
  return *best;
}

// 1, 2 or 5 times a power of ten, not below `least`.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(std::max(least, 1e-3))));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= least * 0.999) return std::max(power * factor, 1.0);
  }
  return std::max(power * 10, 1.0);
}

// `time` in the unit, with as many decimals as `step` has in it.
std::string InUnit(double time, double step, const Unit& unit) {
  const double decimals = std::ceil(-std::log10(step / unit.picoseconds) - 1e-9);
  const double value = time / unit.picoseconds;
  return fmt::format("{:.{}f} {}", value == 0 ? 0 : value,
                     std::clamp(static_cast<int>(decimals), 0, 12), unit.text);
}

}  // namespace

void TimelineCamera::SetWhole(profiler::TimeRange whole) {
  whole_ = whole;
  FitAll();
}

std::string TimelineCamera::Text() const { return fmt::format("{} {}", begin_, length_); }

void TimelineCamera::SetText(std::string_view text) {
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return;
  double begin = 0, length = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), text.data() + blank, begin).ec != std::errc() ||
      std::from_chars(text.data() + blank + 1, end, length).ec != std::errc() || !(length > 0))
    return;
  begin_ = begin;
  length_ = length;
  Clamp();
}

profiler::TimeRange TimelineCamera::range() const {
  return {static_cast<int64_t>(std::floor(begin_)),
          static_cast<int64_t>(std::ceil(begin_ + length_))};
}

void TimelineCamera::FitAll() { Fit(whole_); }

void TimelineCamera::Fit(profiler::TimeRange range) {
  const double length = std::max(static_cast<double>(range.length()), 1.0);
  begin_ = static_cast<double>(range.begin) - 0.02 * length;
  length_ = 1.04 * length;
  Clamp();
}

void TimelineCamera::Zoom(double at, double factor) {
  const double fixed = begin_ + at * length_;
  length_ /= factor;
  Clamp();
  begin_ = fixed - at * length_;
  Clamp();
}

void TimelineCamera::Pan(double part) {
  begin_ += part * length_;
  Clamp();
}

void TimelineCamera::Clamp() {
  const double whole = std::max(static_cast<double>(whole_.length()), 1.0);
  length_ = std::clamp(length_, std::min(1000.0, 1.04 * whole), 1.04 * whole);
  const double first = static_cast<double>(whole_.begin) - 0.02 * whole;
  begin_ = std::clamp(begin_, first, std::max(first, first + 1.04 * whole - length_));
}

std::vector<TimelineTick> TicksOf(const TimelineCamera& camera, double width, double spacing,
                                  std::string& base) {
  std::vector<TimelineTick> ticks;
  base.clear();
  if (width < spacing) return ticks;
  const double step = RoundStep(camera.length() * spacing / width);
  const double zero = static_cast<double>(camera.whole().begin);
  const double end = camera.begin() + camera.length();
  double first = std::ceil((camera.begin() - zero) / step) * step;
  // Six digits fit between two ticks.
  const bool is_long = std::abs(end - zero) > 2e5 * step;
  const double origin = is_long ? first : 0;
  const Unit& unit = UnitFor(is_long ? camera.length() : end - zero);
  if (is_long) base = ExactTimeText(static_cast<int64_t>(first));
  for (double time = first; zero + time <= end && ticks.size() < 200; time += step) {
    ticks.push_back({zero + time, (is_long ? "+" : "") + InUnit(time - origin, step, unit)});
  }
  return ticks;
}

std::string TimeText(double picoseconds) {
  const Unit& unit = UnitFor(picoseconds);
  const double value = picoseconds / unit.picoseconds;
  const double size = std::abs(value);
  const int digits = unit.picoseconds == 1 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, unit.text);
}

std::string ExactTimeText(int64_t picoseconds) {
  const Unit& unit = UnitFor(static_cast<double>(picoseconds));
  const auto size = static_cast<int64_t>(unit.picoseconds);
  std::string text = std::to_string(picoseconds / size);
  std::string rest;
  for (int64_t part = std::abs(picoseconds % size), place = size / 10; part > 0 && place > 0;
       part %= place, place /= 10) {
    rest += static_cast<char>('0' + part / place);
  }
  return text + (rest.empty() ? "" : "." + rest) + " " + unit.text;
}

}  // namespace hloscope::viewer
