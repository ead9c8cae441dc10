// Tasks on an engine for clusters, through a helper: a process in the engine's own language that lives as long as the
// job, since it takes seconds to start.
//
// It is told of a stage by a line, "STAGE TASK TASK …", and answers
//
//   ready                           when it has started
//   tried STAGE TASK HOST WORDS     for an attempt that has failed; the engine may begin another one
//   ended STAGE TASK CODE HOST WORDS    for a task whose worker ended with a code that another attempt would end with
//   end STAGE                       when all tasks have ended
//   failed STAGE WHY                for a task that no attempt has finished
//   lost WHY                        where the engine isn't there, or no more; without a WHY its log has it
//   missing WHY                     for what its user has to install first
//   over                            behind the end of its input, when no task of the job is at work any more
//
// HOST is what the engine calls the machine. WORDS are what the worker has said on standard error, with \r for ends of
// lines: what a worker says comes to the driver so even where the machines share no storage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/scheduler.h"

namespace flowrun::cluster {

struct helper {
  std::string engine;                   // "Spark"
  std::string address;                  // spark://HOST:PORT
  std::string log;                      // where its standard error goes
  std::vector<std::string> words;       // its command line
  std::string when_lost, when_missing;  // what to do then
  // What its log says of an engine that will never take it, though it goes on trying; what that is, and what to do.
  struct refusal {
    std::string logged, message, hint;
  };
  std::vector<refusal> refusals = {};
};

// How often an engine tries a task.
constexpr int most_attempts_on_engine = 8;
// Exit codes of workers that another attempt would end with, too: what the data or the author of the job has to mend.
// The helper counts them as an end of the task, and the driver finds why.
std::string lasting_exit_codes();  // 64,65,…

// What a helper needs beside the program, or where it was installed. Throws error(missing_input).
std::string file_of_helper(const std::string& program, const std::string& name, const std::string& hint);
// The first one in PATH; empty where there is none.
std::string program_in_path(const std::string& name);

std::unique_ptr<scheduler> tasks_of_helper(helper by, const std::string& directory);

}  // namespace flowrun::cluster
