import ai.vespa.rankingexpression.importer.lightgbm.LightGBMImporter;
import com.yahoo.searchlib.rankingexpression.RankingExpression;
import com.yahoo.searchlib.rankingexpression.evaluation.DoubleOnlyArrayContext;
import com.yahoo.searchlib.rankingexpression.evaluation.Context;
import com.yahoo.searchlib.rankingexpression.evaluation.DoubleValue;
import com.yahoo.searchlib.rankingexpression.evaluation.ExpressionOptimizer;
import com.yahoo.searchlib.rankingexpression.evaluation.MapContext;
import com.yahoo.searchlib.rankingexpression.evaluation.StringValue;
import com.yahoo.searchlib.rankingexpression.evaluation.Value;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Evaluates models that Vespa's importer of LightGBM's JSON reads. Arguments: files of models; the documents are in the file
 * of the same name with the ending .tsv, whose first line has the names of the features; a text has quotation marks. Prints
 * the model, the row and the score of the expression, which must be that of the expression as Vespa optimizes it.
 */
public class Score {
    public static void main(String[] args) throws Exception {
        for (String file : args) {
            RankingExpression expression =
                    new LightGBMImporter().importModel("model", file).expressions().values().iterator().next();
            List<String> lines = Files.readAllLines(Path.of(file + ".tsv"));
            String[] names = lines.get(0).split("\t");
            // The optimized evaluation in Java knows no features with arguments.
            String text = expression.getRoot().toString();
            for (int at = 0; at < names.length; at++) {
                text = text.replace(names[at], "f" + at);
            }
            RankingExpression optimized = new RankingExpression(text);
            DoubleOnlyArrayContext fast = new DoubleOnlyArrayContext(optimized);
            new ExpressionOptimizer().optimize(optimized, fast);
            for (int row = 1; row < lines.size(); row++) {
                Context plain = new MapContext();
                String[] values = lines.get(row).split("\t");
                for (int at = 0; at < names.length; at++) {
                    plain.put(names[at], value(values[at]));
                    if (fast.names().contains("f" + at)) {
                        fast.put("f" + at, value(values[at]));
                    }
                }
                double score = expression.evaluate(plain).asDouble();
                double again = optimized.evaluate(fast).asDouble();
                if (score != again) {
                    throw new IllegalStateException("the optimized score is " + again + ", not " + score);
                }
                System.out.println("score\t" + file + "\t" + (row - 1) + "\t" + score);
            }
        }
    }

    private static Value value(String text) {
        return text.startsWith("\"")
                ? new StringValue(text.substring(1, text.length() - 1))
                : new DoubleValue(Double.parseDouble(text));
    }
}
