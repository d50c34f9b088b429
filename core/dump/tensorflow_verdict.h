// What became of a TensorFlow program, in one sentence: whether auto-clustering was on, what was
// compiled, what was not and the reason that weighs most.
#pragma once

#include "core/dump/dump_model.h"
#include "core/dump/run_record.h"
#include "core/dump/tensorflow/whole_advice.h"

namespace hloscope::dump {

// Whether eager mode runs the graph: one operation, and not a function of the program's.
bool IsEagerGraph(const TensorFlowGraph& graph);

// True for what a program does outside the clusters; not for ends of functions, constants, copies
// and what eager mode or a whole compilation runs.
bool RunsOutside(const TensorFlowNode& node);

// By the flags of the run (null: not recorded); on devices that are all CPUs the flag for CPUs
// counts.
AutoClustering StateByFlags(const RunRecord* record, bool only_cpus);

// The flags that make auto-clustering look at the graphs, of those that are not set.
std::string FixOfState(AutoClustering state, bool only_cpus);

// Whether Keras 2 was there, as a part of TensorFlow up to 2.15 or as tf_keras.
bool HadKeras2(const RunRecord* record);

// The verdict on a summary whose nodes are complete; `records` and `facts` of the model, the facts
// of all graphs of the program itself.
ClusteringVerdict JudgeClustering(const DumpModel& model, const RunRecords& records,
                                  const TensorFlowSummary& summary, AutoClustering state,
                                  const WholeFacts& facts);

}  // namespace hloscope::dump
