package flowrun;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Runs the tasks of a job on Spark, stage by stage: each is a process, {@code flowrun worker DIR STAGE TASK}. Spark decides
 * where and when, and runs a task again whose machine is lost; rows never come here.
 *
 * <p>Arguments: the working directory, the words in front of STAGE, "--", those behind TASK. Each line of standard input is
 * a stage, "STAGE TASK TASK …"; each is answered by "end STAGE" or "failed STAGE why". The end of the input ends the job.
 */
public final class Tasks {
  // What the job's data or its author has to mend: another attempt comes to the same end, and the driver finds why.
  private static final Set<Integer> LASTING = Set.of(64, 65, 66, 73, 78);

  private Tasks() {}

  public static void main(String[] args) throws Exception {
    final int gap = Arrays.asList(args).indexOf("--");
    final File directory = new File(args[0]);
    final ArrayList<String> before = new ArrayList<>(Arrays.asList(args).subList(1, gap));
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
              .foreach(task -> run(directory, before, stage, task, after));
          System.out.println("end " + stage);
        } catch (Exception problem) {
          final String why = String.valueOf(problem.getMessage());
          System.out.println("failed " + stage + " " + why.split("\n")[0]);
        }
        System.out.flush();
      }
    }
  }

  private static void run(
      File directory, List<String> before, String stage, String task, List<String> after) throws Exception {
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
      if (code != 0 && !LASTING.contains(code)) {
        throw new IllegalStateException("task " + task + " of stage " + stage + " ended with exit code " + code);
      }
    } finally {
      // Another attempt was first, or the job is over.
      worker.destroyForcibly();
    }
  }
}
