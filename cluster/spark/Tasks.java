package flowrun;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Runs the tasks of a job on Spark, stage by stage: each is a process, {@code flowrun worker DIR STAGE TASK}. Spark decides
 * where and when, and runs a task again whose machine is lost; rows never come here.
 *
 * <p>Arguments: the exit codes of a worker that another attempt would end with, too, the working directory, the words in
 * front of STAGE, "--", those behind TASK. Lines come in and go out as cluster/helper_tasks.h says. The end of the input
 * ends the job.
 */
public final class Tasks {
  private Tasks() {}

  public static void main(String[] args) throws Exception {
    final int gap = Arrays.asList(args).indexOf("--");
    final HashSet<String> lasting = new HashSet<>(Arrays.asList(args[0].split(",")));
    final File directory = new File(args[1]);
    final ArrayList<String> before = new ArrayList<>(Arrays.asList(args).subList(2, gap));
    final ArrayList<String> after = new ArrayList<>(Arrays.asList(args).subList(gap + 1, args.length));
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      System.out.println("ready");
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        final String[] words = line.split(" ");
        final String stage = words[0];
        final List<String> tasks = new ArrayList<>(Arrays.asList(words).subList(1, words.length));
        try {
          spark
              .parallelize(tasks, tasks.size())
              .foreach(task -> run(lasting, directory, before, stage, task, after));
          System.out.println("end " + stage);
        } catch (Exception problem) {
          final String why = String.valueOf(problem.getMessage());
          // It gives up on a master that doesn't answer, and on one that has lost the job: the log says why.
          final boolean isLost = why.contains("SparkContext");
          System.out.println(isLost ? "lost" : "failed " + stage + " " + why.split("\n")[0]);
        }
        System.out.flush();
      }
    }
  }

  private static void run(
      Set<String> lasting, File directory, List<String> before, String stage, String task, List<String> after)
      throws Exception {
    final List<String> command = new ArrayList<>(before);
    command.add(stage);
    command.add(task);
    command.addAll(after);
    // Its standard input is a pipe that ends with this process, and so does the worker.
    final Process worker =
        new ProcessBuilder(command)
            .directory(directory)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      final int code = worker.waitFor();
      if (code != 0 && !lasting.contains(String.valueOf(code))) {
        throw new IllegalStateException("task " + task + " of stage " + stage + " ended with exit code " + code);
      }
    } finally {
      // Another attempt was first, or the job is over.
      worker.destroyForcibly();
    }
  }
}
