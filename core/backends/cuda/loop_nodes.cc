// A kernel of one thread sets the condition of a node (cudaGraphSetConditional, which the driver
// knows when it loads PTX; CUDA C++ Programming Guide, conditional graph nodes): once before the
// node, and at the end of each turn.
#include "core/backends/cuda/loop_nodes.h"

#include <array>

namespace hloscope::replay::cuda {
namespace {

constexpr size_t kTurnsBytes = sizeof(LoopNodes::Turns);

}  // namespace

Result<LoopNodes> LoopNodes::Make(const std::shared_ptr<const Device>& device, int64_t loops) {
  LoopNodes out;
  out.device_ = device;
  out.room_ = loops;
  HLOSCOPE_ASSIGN_OR_RETURN(out.decide_, HelperKernel::Load(device, "decide", DecideCode()));
  HLOSCOPE_ASSIGN_OR_RETURN(out.turns_,
                            AllocateOnDevice(device, loops * static_cast<int64_t>(kTurnsBytes)));
  return out;
}

Status LoopNodes::Reset(StreamHandle stream) const {
  const Driver& driver = device_->driver();
  return driver.Check(
      driver->SetBytes(turns_.get(), 0, static_cast<size_t>(room_) * kTurnsBytes, stream),
      "counting the iterations of loops");
}

// Of the graph that the stream records.
Result<uint64_t> LoopNodes::NewCondition(StreamHandle stream) const {
  const Driver& driver = device_->driver();
  int status = 0;
  uint64_t id = 0, condition = 0;
  GraphHandle graph = nullptr;
  HLOSCOPE_TRY(driver.Check(
      driver->StreamCaptureInfo(stream, &status, &id, &graph, nullptr, nullptr, nullptr),
      "asking what a stream records"));
  HLOSCOPE_TRY(
      driver.Check(driver->GraphConditionCreate(&condition, graph, device_->context(), 0, 0),
                   "making a loop's condition"));
  return condition;
}

// Behind all that the stream has recorded; what it records next comes behind the node.
Result<GraphHandle> LoopNodes::AddNode(StreamHandle stream, uint64_t condition) const {
  const Driver& driver = device_->driver();
  int status = 0;
  uint64_t id = 0;
  GraphHandle graph = nullptr;
  const NodeHandle* before = nullptr;
  size_t count = 0;
  HLOSCOPE_TRY(driver.Check(
      driver->StreamCaptureInfo(stream, &status, &id, &graph, &before, nullptr, &count),
      "asking what a stream records"));
  NodeParameters parameters;
  parameters.conditional.condition = condition;
  parameters.conditional.context = device_->context();
  NodeHandle node = nullptr;
  HLOSCOPE_TRY(driver.Check(driver->GraphAddNode(&node, graph, before, nullptr, count, &parameters),
                            "adding a loop to a graph"));
  HLOSCOPE_TRY(
      driver.Check(driver->StreamCaptureBehind(stream, &node, nullptr, 1, kSetCaptureDependencies),
                   "recording after a loop"));
  return parameters.conditional.graphs[0];
}

Status LoopNodes::Decide(StreamHandle stream, uint64_t condition, Address decision,
                         Address turns) const {
  const std::array<void*, 3> parameters = {&condition, &decision, &turns};
  return decide_.Launch(stream, 1, parameters);
}

Status LoopNodes::Add(StreamHandle stream, size_t number, Address decision,
                      const std::function<Status(StreamHandle)>& body) {
  const Driver& driver = device_->driver();
  const Address turns = turns_.get() + number * kTurnsBytes;
  HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t condition, NewCondition(stream));
  HLOSCOPE_TRY(Decide(stream, condition, decision, turns));
  HLOSCOPE_ASSIGN_OR_RETURN(GraphHandle graph, AddNode(stream, condition));
  HLOSCOPE_ASSIGN_OR_RETURN(Stream own, MakeStream(device_));
  StreamHandle const inner = own.get();
  streams_.push_back(std::move(own));
  HLOSCOPE_TRY(
      driver.Check(driver->StreamBeginCaptureTo(inner, graph, nullptr, nullptr, 0, kCaptureThread),
                   "recording the iteration of a loop"));
  Status recorded = body(inner);
  if (recorded.has_value()) recorded = Decide(inner, condition, decision, turns);
  const Answer ended = driver->StreamEndCapture(inner, &graph);
  HLOSCOPE_TRY(std::move(recorded));
  return driver.Check(ended, "recording the iteration of a loop");
}

Result<std::vector<LoopNodes::Turns>> LoopNodes::TurnsOf(Transfers& transfers) const {
  std::vector<Turns> turns(static_cast<size_t>(room_));
  HLOSCOPE_TRY(transfers.Download(reinterpret_cast<std::byte*>(turns.data()), turns_.get(),
                                  room_ * static_cast<int64_t>(kTurnsBytes)));
  return turns;
}

}  // namespace hloscope::replay::cuda
